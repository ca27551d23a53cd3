// SPDX-License-Identifier: Apache-2.0
#include "samples/own_samples.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "device/inventory.hpp"
#include "runtime/memory.hpp"
#include "samples/own_sample_checks.hpp"
#include "tensor/host_values.hpp"

namespace quern {

namespace {

constexpr const char* kOrigin = "the program's samples";

template <class T>
View<const T> checked_copy(const std::string& label, std::span<const T> values) {
  check_device_data(static_cast<std::int64_t>(values.size_bytes()), kOrigin,
                    available_device_memory());
  return copy_to_kernels(label, values);
}

// Whole samples, or InputError.
std::int64_t count_samples(const Shape& shape, std::span<const float> values) {
  if (!is_shape_of_samples(shape))
    throw InputError(std::string(kOrigin) + ": samples of shape " + to_string(shape) +
                     ", expected extents from 1 on, and no more values than 32 bits count");
  if (values.empty() || values.size() % static_cast<std::size_t>(shape.units()) != 0) {
    throw InputError(std::string(kOrigin) + ": " + std::to_string(values.size()) +
                     " values, expected a positive multiple of the " +
                     std::to_string(shape.units()) + " of a sample " + to_string(shape));
  }
  return static_cast<std::int64_t>(values.size()) / shape.units();
}

Samples make_samples(const Shape& shape, std::span<const float> values) {
  Samples samples;
  samples.count = count_samples(shape, values);
  samples.shape = shape;
  samples.values = checked_copy("quern::samples::own_values", values);
  return samples;
}

}  // namespace

Samples make_labelled_samples(const Shape& shape, std::span<const float> values,
                              std::span<const std::uint8_t> labels, int classes) {
  Samples samples = make_samples(shape, values);
  if (classes < 1)
    throw InputError(std::string(kOrigin) + ": labels of " + std::to_string(classes) +
                     " classes, expected at least one");
  if (static_cast<std::int64_t>(labels.size()) != samples.count) {
    throw InputError(std::string(kOrigin) + ": " + std::to_string(labels.size()) + " labels for " +
                     std::to_string(samples.count) + " samples");
  }
  const std::vector<std::int32_t> wide(labels.begin(), labels.end());
  check_own_samples({.values = values, .labels = wide}, {.shape = shape, .classes = classes}, 0,
                    samples.count, kOrigin);
  samples.classes = classes;
  samples.labels = checked_copy<std::int32_t>("quern::samples::own_labels", wide);
  samples.data_hash = hash_of_samples(std::as_bytes(values), std::as_bytes(labels));
  return samples;
}

Samples make_target_samples(const Shape& shape, std::span<const float> values, int target_units,
                            std::span<const float> targets) {
  Samples samples = make_samples(shape, values);
  if (target_units < 0)
    throw InputError(std::string(kOrigin) + ": " + std::to_string(target_units) +
                     " targets for each sample, expected 0 or more");
  if (static_cast<std::int64_t>(targets.size()) != samples.count * target_units) {
    throw InputError(std::string(kOrigin) + ": " + std::to_string(targets.size()) +
                     " target values, expected " + std::to_string(samples.count) + " times " +
                     std::to_string(target_units));
  }
  check_own_samples({.values = values, .targets = targets},
                    {.shape = shape, .target_shape = {target_units}}, 0, samples.count, kOrigin);
  samples.targets = checked_copy("quern::samples::own_targets", targets);
  samples.data_hash = hash_of_samples(std::as_bytes(values), std::as_bytes(targets));
  return samples;
}

}  // namespace quern

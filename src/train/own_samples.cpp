// SPDX-License-Identifier: Apache-2.0
#include "train/own_samples.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "device/inventory.hpp"
#include "runtime/memory.hpp"
#include "tensor/host_values.hpp"

namespace quern {

namespace {

template <class T>
View<const T> checked_copy(const std::string& label, std::span<const T> values) {
  check_device_data(static_cast<std::int64_t>(values.size_bytes()), "the program's samples",
                    available_device_memory());
  return copy_to_kernels(label, values);
}

// Whole samples, or InputError.
std::int64_t count_samples(const Shape& shape, std::span<const float> values) {
  if (shape.units() < 1 || values.empty() ||
      values.size() % static_cast<std::size_t>(shape.units()) != 0) {
    throw InputError("the program's samples: " + std::to_string(values.size()) +
                     " values, expected a positive multiple of the " +
                     std::to_string(shape.units()) + " of a sample " + to_string(shape));
  }
  return static_cast<std::int64_t>(values.size()) / shape.units();
}

Samples make_samples(const Shape& shape, std::span<const float> values) {
  Samples samples;
  samples.count = count_samples(shape, values);
  samples.shape = shape;
  samples.values = checked_copy("quern::train::own_values", values);
  return samples;
}

// Names both arrays.
std::string hash_of(std::span<const float> values, std::span<const std::byte> answers) {
  const std::string parts = sha256(std::as_bytes(values)) + sha256(answers);
  return sha256(std::as_bytes(std::span(parts.data(), parts.size())));
}

}  // namespace

Samples make_labelled_samples(const Shape& shape, std::span<const float> values,
                              std::span<const std::uint8_t> labels, int classes) {
  Samples samples = make_samples(shape, values);
  if (static_cast<std::int64_t>(labels.size()) != samples.count) {
    throw InputError("the program's samples: " + std::to_string(labels.size()) + " labels for " +
                     std::to_string(samples.count) + " samples");
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < classes) continue;
    throw InputError("the program's samples: label " + std::to_string(labels[i]) + " of sample " +
                     std::to_string(i) + ", expected one below " + std::to_string(classes));
  }
  samples.classes = classes;
  const std::vector<std::int32_t> wide(labels.begin(), labels.end());
  samples.labels = checked_copy<std::int32_t>("quern::train::own_labels", wide);
  samples.data_hash = hash_of(values, std::as_bytes(labels));
  return samples;
}

Samples make_target_samples(const Shape& shape, std::span<const float> values, int target_units,
                            std::span<const float> targets) {
  Samples samples = make_samples(shape, values);
  if (static_cast<std::int64_t>(targets.size()) != samples.count * target_units) {
    throw InputError("the program's samples: " + std::to_string(targets.size()) +
                     " target values, expected " + std::to_string(samples.count) + " times " +
                     std::to_string(target_units));
  }
  samples.targets = checked_copy("quern::train::own_targets", targets);
  samples.data_hash = hash_of(values, std::as_bytes(targets));
  return samples;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "train/own_sample_checks.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "io/finite_check.hpp"

namespace quern {

void check_own_samples(const ConstSampleArrays& samples, const ShardContent& content,
                       std::int64_t first, std::int64_t last, const std::string& origin) {
  const auto part = [&](std::span<const float> values, const Shape& shape) {
    const std::int64_t units = shape.units();
    return values.empty() ? values
                          : values.subspan(static_cast<std::size_t>(first * units),
                                           static_cast<std::size_t>((last - first) * units));
  };
  check_finite_samples(part(samples.values, content.shape), "values", content.shape,
                       StoredType::float32, first, origin);
  check_finite_samples(part(samples.targets, content.target_shape), "targets", content.target_shape,
                       StoredType::float32, first, origin);
  if (samples.labels.empty()) return;
  const auto labels = samples.labels.subspan(static_cast<std::size_t>(first),
                                             static_cast<std::size_t>(last - first));
  const auto wrong = std::ranges::find_if_not(
      labels, [&](std::int32_t label) { return label >= 0 && label < content.classes; });
  if (wrong == labels.end()) return;
  throw InputError(origin + ": label " + std::to_string(*wrong) + " of sample " +
                   std::to_string(first + (wrong - labels.begin())) +
                   " is out of range, expected 0 to " + std::to_string(content.classes - 1));
}

std::string hash_of_samples(std::span<const std::byte> inputs, std::span<const std::byte> answers) {
  return sha256(sha256(inputs) + sha256(answers));
}

}  // namespace quern

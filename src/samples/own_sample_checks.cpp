// SPDX-License-Identifier: Apache-2.0
#include "samples/own_sample_checks.hpp"

#include <algorithm>

#include "base/sha256.hpp"
#include "io/sample_checks.hpp"

namespace quern {

void check_own_samples(const ConstSampleArrays& samples, const ShardContent& content,
                       std::int64_t first, std::int64_t last, const std::string& origin) {
  const auto part = [&](std::span<const float> values, const Shape& shape) {
    const std::int64_t units = shape.units();
    return values.empty() ? values
                          : values.subspan(static_cast<std::size_t>(first * units),
                                           static_cast<std::size_t>((last - first) * units));
  };
  const auto refuse_not_finite = [&](std::span<const float> values, const char* name,
                                     const Shape& shape) {
    refuse_input(origin, find_not_finite(part(values, shape), name, shape.units(), first,
                                         StoredType::float32));
  };
  refuse_not_finite(samples.values, "values", content.shape);
  refuse_not_finite(samples.targets, "targets", content.target_shape);
  if (samples.labels.empty()) return;
  const auto labels = samples.labels.subspan(static_cast<std::size_t>(first),
                                             static_cast<std::size_t>(last - first));
  refuse_input(origin, find_wrong_label(labels, content.classes, first));
}

bool is_shape_of_samples(const Shape& shape) {
  return std::min({shape.channels, shape.height, shape.width}) >= 1 && !shape.is_too_large();
}

std::string hash_of_samples(std::span<const std::byte> inputs, std::span<const std::byte> answers) {
  return sha256(sha256(inputs) + sha256(answers));
}

}  // namespace quern

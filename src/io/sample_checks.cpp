// SPDX-License-Identifier: Apache-2.0
#include "io/sample_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace quern {

namespace {

constexpr float kTooLargeForHalf = 65520;  // rounds to infinity

// In the order of absolute values; behind infinity come those that are no numbers.
std::uint32_t magnitude(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

// Without a branch for each, so that the compiler makes vectors of it.
std::uint32_t largest_magnitude(std::span<const float> values) {
  std::uint32_t largest = 0;
  for (const float value : values) largest = std::max(largest, magnitude(value));
  return largest;
}

}  // namespace

std::optional<std::string> find_not_finite(std::span<const float> values, const char* name,
                                           std::int64_t units, std::int64_t first,
                                           std::optional<StoredType> stored) {
  const std::uint32_t limit = magnitude(
      stored == StoredType::float16 ? kTooLargeForHalf : std::numeric_limits<float>::infinity());
  if (largest_magnitude(values) < limit) return std::nullopt;
  const auto wrong = std::find_if(values.begin(), values.end(),
                                  [&](float value) { return magnitude(value) >= limit; });
  // What is too large for a float became infinite when its file was read.
  return fmt::format("the {} of sample {} hold {}{}, expected finite {}numbers", name,
                     first + (wrong - values.begin()) / units, *wrong,
                     std::isinf(*wrong) ? " or a number too large for float32" : "",
                     stored ? std::string(to_string(*stored)) + " " : "");
}

std::optional<std::string> find_wrong_label(std::span<const std::int32_t> labels, int classes,
                                            std::int64_t first) {
  const auto wrong = std::find_if(labels.begin(), labels.end(), [&](std::int32_t label) {
    return label < 0 || label >= classes;
  });
  if (wrong == labels.end()) return std::nullopt;
  return fmt::format("label {} of sample {} is out of range, expected 0 to {}", *wrong,
                     first + (wrong - labels.begin()), classes - 1);
}

void refuse_input(const std::string& origin, const std::optional<std::string>& wrong) {
  if (wrong) throw InputError(origin.empty() ? *wrong : origin + ": " + *wrong);
}

}  // namespace quern

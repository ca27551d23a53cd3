// SPDX-License-Identifier: Apache-2.0
#include "io/sample_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"

namespace quern {

namespace {

// Without a branch for each, so that the compiler makes vectors of it.
bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  std::uint32_t largest = 0;
  for (const float value : values)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & 0x7fffffffu);
  return largest < kInfinity;
}

}  // namespace

void check_finite(const Shard& shard, const char* name, std::span<const float> values,
                  std::int64_t units, std::int64_t first) {
  if (all_finite(values)) return;
  const auto wrong =
      std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  throw UnusableError(fmt::format("'{}': the {} of sample {} hold {}, expected finite numbers",
                                  shard.path.string(), name,
                                  first + (wrong - values.begin()) / units, *wrong));
}

void check_labels(const Shard& shard, std::span<const std::int32_t> labels, int classes,
                  std::int64_t first) {
  const auto wrong = std::find_if(labels.begin(), labels.end(), [&](std::int32_t label) {
    return label < 0 || label >= classes;
  });
  if (wrong == labels.end()) return;
  throw UnusableError(fmt::format("'{}': label {} of sample {} is out of range, expected 0 to {}",
                                  shard.path.string(), *wrong, first + (wrong - labels.begin()),
                                  classes - 1));
}

}  // namespace quern

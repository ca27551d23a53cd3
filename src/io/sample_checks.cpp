// SPDX-License-Identifier: Apache-2.0
#include "io/sample_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace quern {

void check_finite(const Shard& shard, const char* name, std::span<const float> values,
                  std::int64_t units, std::int64_t first) {
  const auto wrong =
      std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  if (wrong == values.end()) return;
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

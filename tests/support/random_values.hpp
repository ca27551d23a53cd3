// SPDX-License-Identifier: Apache-2.0
// Reproducible test values that are not symmetric, not integers and not all positive.
#pragma once

#include <cstdint>
#include <vector>

#include "base/philox.hpp"

namespace quern::testing {

/// `count` values uniform in [-1, 1).
inline std::vector<float> random_values(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t word = random_block(seed, RandomUse::samples, 99, i / 4).word[i % 4];
    values[i] = 2.0f * uniform01(word) - 1.0f;
  }
  return values;
}

}  // namespace quern::testing

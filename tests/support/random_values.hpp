// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/philox.hpp"

namespace quern::test {

/// `count` floats, uniform in [low, high).
inline std::vector<float> random_values(std::size_t count, std::uint64_t seed, float low = -1,
                                        float high = 1) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(low + (high - low) *
                               uniform01(random_block(seed, RandomUse::samples, 0, i).word[0]));
  return values;
}

}  // namespace quern::test

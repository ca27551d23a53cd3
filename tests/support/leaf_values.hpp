// SPDX-License-Identifier: Apache-2.0
// Synthetic block gradients that anybody can compute for any block.
#pragma once

#include <cstdint>
#include <vector>

#include "base/philox.hpp"

namespace quern::testing {

/// Gradient of one block: numbers of very different size, so that another order of addition gives
/// other bits.
inline std::vector<float> leaf_gradient(std::int64_t num_floats, int block) {
  std::vector<float> leaf;
  for (std::int64_t i = 0; i < num_floats; ++i) {
    const PhiloxBlock random = random_block(
        7, RandomUse::samples, static_cast<std::uint32_t>(block), static_cast<std::uint64_t>(i));
    leaf.push_back((uniform01(random.word[0]) - 0.5f) *
                   static_cast<float>(1 << (random.word[1] % 16)));
  }
  return leaf;
}

inline std::vector<std::vector<float>> leaf_gradients(std::int64_t num_floats, int first,
                                                      int last) {
  std::vector<std::vector<float>> leaves;
  for (int block = first; block < last; ++block) leaves.push_back(leaf_gradient(num_floats, block));
  return leaves;
}

}  // namespace quern::testing

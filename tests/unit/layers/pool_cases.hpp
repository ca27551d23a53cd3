// SPDX-License-Identifier: Apache-2.0
// Geometries that both pools are tested with: tiling, overlapping, with uncovered edges and gaps.
#pragma once

#include "spec/network_spec.hpp"

namespace quern::test {

struct PoolCase {
  Shape input;
  int size;
  int stride;
};

inline constexpr PoolCase kPoolCases[] = {
    {{1, 1, 1}, 1, 1}, {{2, 4, 6}, 2, 2}, {{3, 9, 9}, 2, 2}, {{1, 7, 5}, 3, 2},
    {{2, 6, 8}, 3, 1}, {{1, 8, 7}, 2, 3}, {{5, 3, 3}, 3, 3}, {{17, 5, 4}, 4, 1},
};

inline LayerSpec pool_spec(LayerType type, const PoolCase& pool) {
  LayerSpec spec;
  spec.type = type;
  spec.name = "pool1";
  spec.size = pool.size;
  spec.stride = pool.stride;
  return spec;
}

}  // namespace quern::test

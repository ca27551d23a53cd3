// SPDX-License-Identifier: Apache-2.0
// Geometries that both pools are tested with: tiling, overlapping, with uncovered edges and gaps,
// padded.
#pragma once

#include "spec/network_spec.hpp"

namespace quern::test {

struct PoolCase {
  Shape input;
  int size;
  int stride;
  int padding = 0;
};

inline constexpr PoolCase kPoolCases[] = {
    {{1, 1, 1}, 1, 1},     {{2, 4, 6}, 2, 2},    {{3, 9, 9}, 2, 2},    {{1, 7, 5}, 3, 2},
    {{2, 6, 8}, 3, 1},     {{1, 8, 7}, 2, 3},    {{5, 3, 3}, 3, 3},    {{17, 5, 4}, 4, 1},
    {{2, 7, 7}, 3, 2, 1},  {{1, 6, 5}, 3, 2, 1}, {{3, 4, 4}, 2, 2, 1}, {{1, 5, 8}, 4, 1, 2},
    {{17, 9, 3}, 5, 3, 2}, {{2, 1, 1}, 2, 1, 1}, {{1, 8, 6}, 3, 3, 1},
};

inline LayerSpec pool_spec(LayerType type, const PoolCase& pool) {
  LayerSpec spec;
  spec.type = type;
  spec.name = "pool1";
  spec.size = pool.size;
  spec.stride = pool.stride;
  spec.padding = pool.padding;
  return spec;
}

}  // namespace quern::test

// SPDX-License-Identifier: Apache-2.0
// Tiles of bfloat16 on vector registers: what a processor without a tile unit does, bit for bit.
#include <cstring>

#include "linalg/host/bf16_tiles.hpp"
#include "linalg/host/simd_bf16.hpp"

namespace quern::host {

namespace {

// Rows of C whose two chains stay in registers.
#if defined(__AVX512F__)
constexpr int kChainRows = 8;
#else
constexpr int kChainRows = 2;
#endif

/// c += A B for kChainRows rows of a tile.
[[gnu::always_inline]] inline void multiply_rows(const Bf16* a, const Bf16* b, float* c) {
  simd::Vector even[kChainRows];
  simd::Vector odd[kChainRows];
  for (int r = 0; r < kChainRows; ++r) even[r] = odd[r] = simd::Vector{};
  for (int pair = 0; pair < kTileDepth / 2; ++pair) {
    const simd::Vector b_pair = simd::load_pairs(b + pair * kTileDepth);
    const simd::Vector b_even = simd::first_of_pairs(b_pair);
    const simd::Vector b_odd = simd::second_of_pairs(b_pair);
    QUERN_UNROLL
    for (int r = 0; r < kChainRows; ++r) {
      const simd::Vector a_pair = simd::broadcast_pair(a + r * kTileDepth + 2 * pair);
      even[r] = simd::multiply_add(simd::first_of_pairs(a_pair), b_even, even[r]);
      odd[r] = simd::multiply_add(simd::second_of_pairs(a_pair), b_odd, odd[r]);
    }
  }
  for (int r = 0; r < kChainRows; ++r) {
    float* row = c + r * kTileRows;
    simd::store(row, simd::load(row) + (even[r] + odd[r]));
  }
}

void multiply_tile(const Bf16* a, const Bf16* b, float* c) {
  for (int row = 0; row < kTileRows; row += kChainRows) {
    multiply_rows(a + row * kTileDepth, b, c + row * kTileRows);
  }
}

void multiply_on_vectors(const TileWalk& w, const TileBlock& block, float* c) {
  if (!block.add) std::memset(c, 0, sizeof(float) * block.rows * block.columns * kTileFloats);
  for (int i = 0; i < block.rows; ++i) {
    for (int j = 0; j < block.columns; ++j) {
      float* tile = c + i * block.down() + j * block.right();
      for (int outer = 0; outer < w.outer; ++outer) {
        const Bf16* a = w.a + outer * w.a_outer + i * w.a_row;
        const Bf16* b = w.b + outer * w.b_outer + j * w.b_column;
        for (int inner = 0; inner < w.inner; ++inner, a += w.a_inner, b += w.b_inner) {
          multiply_tile(a, b, tile);
        }
      }
    }
  }
}

}  // namespace

const TileUnit& vector_tile_unit() {
  static const TileUnit unit{"vector registers", OperandPrecision::bf16, multiply_on_vectors};
  return unit;
}

}  // namespace quern::host

// SPDX-License-Identifier: Apache-2.0
// Tiles of bfloat16 by pairs: with AVX512_BF16, and bit for bit the same without.
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, VDPBF16PS.
#include <algorithm>

#include "base/macros.hpp"
#include "linalg/host/bf16_tiles.hpp"
#include "linalg/host/simd_bf16.hpp"

namespace quern::host {

namespace {

/// c + a b, of 16 pairs: first the second values of the pairs, then the first ones.
struct ByVectors {
#if defined(__AVX512F__)
  static constexpr int kRows = 4;
#else
  static constexpr int kRows = 2;  // as many sums as there are registers for
#endif
  static simd::Vector add_pairs(simd::Vector c, const Bf16* a, simd::Vector b) {
    const simd::Vector pair = simd::broadcast_pair(a);
    c = simd::multiply_add(simd::second_of_pairs(pair), simd::second_of_pairs(b), c);
    return simd::multiply_add(simd::first_of_pairs(pair), simd::first_of_pairs(b), c);
  }
};

#if defined(__AVX512F__)
/// By the instruction, written out, because files compiled for all AVX-512 processors have it as
/// well.
struct ByInstruction {
  static constexpr int kRows = 8;
  static simd::Vector add_pairs(simd::Vector c, const Bf16* a, simd::Vector b) {
    struct Pair {
      Bf16 values[2];
    };
    asm("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(b), "m"(*reinterpret_cast<const Pair*>(a)));
    return c;
  }
};
#endif

/// Rows of one or two tiles beside each other, over all steps: their sums stay in registers.
template <class Way, int Columns, int Rows>
void multiply_rows(const TileWalk& w, bool add, int right, const Bf16* a_rows, float* c) {
  simd::Vector sums[Rows][Columns];
  // Written out, or GCC 12 keeps the sums in memory.
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < Columns; ++j)
      sums[r][j] = add ? simd::load(c + j * right + r * kTileRows) : simd::Vector{};
  }
  for (int outer = 0; outer < w.outer; ++outer) {
    const Bf16* a = a_rows + outer * w.a_outer;
    const Bf16* b = w.b + outer * w.b_outer;
    for (int inner = 0; inner < w.inner; ++inner, a += w.a_inner, b += w.b_inner) {
      const int pairs = inner + 1 < w.inner ? kTileDepth / 2 : w.last_pairs;
      for (int pair = 0; pair < pairs; ++pair) {
        simd::Vector b_pairs[Columns];
#pragma GCC unroll 2
        for (int j = 0; j < Columns; ++j)
          b_pairs[j] = simd::load_pairs(b + j * w.b_column + pair * kTileDepth);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
          for (int j = 0; j < Columns; ++j)
            sums[r][j] = Way::add_pairs(sums[r][j], a + r * kTileDepth + 2 * pair, b_pairs[j]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < Columns; ++j) simd::store(c + j * right + r * kTileRows, sums[r][j]);
  }
}

template <class Way, int Columns>
void multiply_columns(const TileWalk& w, const TileBlock& block, float* c) {
  constexpr int kMost = Way::kRows * (Columns == 1 ? 2 : 1);
  for (int i = 0; i < block.rows; ++i) {
    const Bf16* a = w.a + i * w.a_row;
    float* tile = c + i * block.down();
    const int used = std::clamp(block.used_rows - i * kTileRows, 0, kTileRows);
    int row = 0;
    while (row < used) {
      const Bf16* from = a + row * kTileDepth;
      float* to = tile + row * kTileRows;
      if (used - row > kMost / 2) {
        multiply_rows<Way, Columns, kMost>(w, block.add, block.right(), from, to);
        row += kMost;
      } else {
        multiply_rows<Way, Columns, kMost / 2>(w, block.add, block.right(), from, to);
        row += kMost / 2;
      }
    }
    if (block.add) continue;
    for (int j = 0; j < Columns; ++j)
      std::fill(tile + j * block.right() + row * kTileRows, tile + j * block.right() + kTileFloats,
                0.0f);
  }
}

template <class Way>
void multiply_pairs(const TileWalk& w, const TileBlock& block, float* c) {
  if (block.columns > 1)
    multiply_columns<Way, 2>(w, block, c);
  else
    multiply_columns<Way, 1>(w, block, c);
}

}  // namespace

const TileUnit& vector_pair_unit() {
  static const TileUnit unit{"vector registers", OperandPrecision::bf16_pairs,
                             multiply_pairs<ByVectors>};
  return unit;
}

const TileUnit* avx512_bf16_unit() {
#if defined(__AVX512F__)
  static const TileUnit unit{"AVX512_BF16", OperandPrecision::bf16_pairs,
                             multiply_pairs<ByInstruction>};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bf16")) return &unit;
#endif
  return nullptr;
}

}  // namespace quern::host

// SPDX-License-Identifier: Apache-2.0
// Sixteen floats as one value. GCC's and Clang's vector extension maps it to one AVX-512 register,
// two AVX2, or four SSE or NEON registers; the arithmetic per element, and so every result, is the
// same on all processors with fused multiply-add.
//
// Only host micro-kernels include this file. It must stay free of Kokkos and of the standard
// library, so that a micro-kernel can be compiled once per processor type.
#pragma once

#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace quern::simd {

using Vector = float __attribute__((vector_size(64)));

inline Vector load(const float* p) {
  using Unaligned = float __attribute__((vector_size(64), aligned(4), may_alias));
  return *reinterpret_cast<const Unaligned*>(p);
}

inline void store(float* p, Vector v) {
  using Unaligned = float __attribute__((vector_size(64), aligned(4), may_alias));
  *reinterpret_cast<Unaligned*>(p) = v;
}

/// Stores the first `count` lanes (1 to 16).
inline void store_first(float* p, Vector v, int count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1u), v);
#else
  for (int lane = 0; lane < count; ++lane) p[lane] = v[lane];
#endif
}

/// v where it is above 0 or not a number, else 0.
inline Vector relu(Vector v) {
  return v <= 0 ? Vector{} : v;
}

/// v where `gate` is above 0 or not a number, else 0: the slope of relu, gate being its output.
inline Vector relu_slope(Vector gate, Vector v) {
  return gate <= 0 ? Vector{} : v;
}

inline Vector broadcast(float value) {
  return value - Vector{};
}

/// Sum over the lanes in a fixed binary tree: lane l + lane l + 8, then + 4, + 2, + 1.
inline float sum_lanes(Vector v) {
  using Half = float __attribute__((vector_size(32)));
  using Quarter = float __attribute__((vector_size(16)));
  const Half half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                    __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  const Quarter quarter = __builtin_shufflevector(half, half, 0, 1, 2, 3) +
                          __builtin_shufflevector(half, half, 4, 5, 6, 7);
  return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

/// One round of adding the lanes of many vectors: of two vectors that consist of groups of 2 Width
/// lanes, the vector whose groups of Width lanes hold lane l + lane (l + Width) of a's groups, then
/// of b's.
template <int Width>
inline Vector fold_lanes(Vector a, Vector b) {
  using Index = int __attribute__((vector_size(64)));
  Index low{};
  Index high{};
  for (int lane = 0; lane < 16; ++lane) {
    // The first eight lanes of the result come from a, the others from b.
    const int group = lane % 8 / Width;
    low[lane] = lane / 8 * 16 + group * 2 * Width + lane % Width;
    high[lane] = low[lane] + Width;
  }
  return __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, high);
}

/// sums[i] = sum_lanes(values[i]) for i < Count, with the same bits: sixteen vectors are folded
/// into one side by side.
template <int Count>
inline void sum_lanes(const Vector* values, float* sums) {
  for (int begin = 0; begin < Count; begin += 16) {
    Vector part[16];
    for (int i = 0; i < 16; ++i) part[i] = begin + i < Count ? values[begin + i] : Vector{};
    for (int i = 0; i < 8; ++i) part[i] = fold_lanes<8>(part[2 * i], part[2 * i + 1]);
    for (int i = 0; i < 4; ++i) part[i] = fold_lanes<4>(part[2 * i], part[2 * i + 1]);
    for (int i = 0; i < 2; ++i) part[i] = fold_lanes<2>(part[2 * i], part[2 * i + 1]);
    const int left = Count - begin;
    store_first(sums + begin, fold_lanes<1>(part[0], part[1]), left < 16 ? left : 16);
  }
}

// Tile sizes that fill, and do not overflow, the register file.
//   kRows x kVectors                  matrix products
//   kTallRows                         the same, where a tile is at most half as wide
//   kConvChannels x kConvColumns      convolution: channels times neighbouring pixels
//   kWeightTile                       convolution: weight gradients held at once
#if defined(__AVX512F__)
inline constexpr int kRows = 6;
inline constexpr int kVectors = 4;
inline constexpr int kTallRows = 12;
inline constexpr int kConvChannels = 8;
inline constexpr int kConvColumns = 3;
inline constexpr int kWeightTile = 25;
#elif defined(__AVX2__) || defined(__ARM_NEON)
inline constexpr int kRows = 6;
inline constexpr int kVectors = 1;
inline constexpr int kTallRows = 6;
inline constexpr int kConvChannels = 6;
inline constexpr int kConvColumns = 1;
inline constexpr int kWeightTile = 6;
#else
inline constexpr int kRows = 2;
inline constexpr int kVectors = 1;
inline constexpr int kTallRows = 2;
inline constexpr int kConvChannels = 2;
inline constexpr int kConvColumns = 1;
inline constexpr int kWeightTile = 2;
#endif

}  // namespace quern::simd

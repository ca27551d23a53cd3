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

// Tile sizes that fill, and do not overflow, the register file.
//   kRows x kVectors                  matrix products
//   kConvChannels x kConvColumns      convolution: channels times neighbouring pixels
//   kWeightTile                       convolution: weight gradients held at once
#if defined(__AVX512F__)
inline constexpr int kRows = 6;
inline constexpr int kVectors = 4;
inline constexpr int kConvChannels = 8;
inline constexpr int kConvColumns = 3;
inline constexpr int kWeightTile = 25;
#elif defined(__AVX2__) || defined(__ARM_NEON)
inline constexpr int kRows = 6;
inline constexpr int kVectors = 1;
inline constexpr int kConvChannels = 6;
inline constexpr int kConvColumns = 1;
inline constexpr int kWeightTile = 6;
#else
inline constexpr int kRows = 2;
inline constexpr int kVectors = 1;
inline constexpr int kConvChannels = 2;
inline constexpr int kConvColumns = 1;
inline constexpr int kWeightTile = 2;
#endif

}  // namespace quern::simd

// SPDX-License-Identifier: Apache-2.0
// Transposes in registers.
#pragma once

#include "linalg/host/simd.hpp"

namespace quern::simd {

/// Transposes square blocks that lie side by side in Rows registers; there is one block if these
/// are as many as a register has lanes. Rounds of a butterfly exchange the off-diagonal halves of
/// all pairs of rows `Step` apart, then of rows half as far.
template <int Rows, int Step = Rows / 2>
inline void transpose(Register (&rows)[Rows]) {
  LaneIndex low{};
  LaneIndex high{};
  QUERN_UNROLL
  for (int lane = 0; lane < kRegisterLanes; ++lane) {
    const bool upper = (lane & Step) != 0;
    low[lane] = upper ? kRegisterLanes + lane - Step : lane;
    high[lane] = upper ? kRegisterLanes + lane : lane + Step;
  }
  QUERN_UNROLL
  for (int r = 0; r < Rows; ++r) {
    if (r & Step) continue;
    const Register a = rows[r];
    const Register b = rows[r + Step];
    rows[r] = shuffle(a, b, low);
    rows[r + Step] = shuffle(a, b, high);
  }
  if constexpr (Step > 1) transpose<Rows, Step / 2>(rows);
}

/// out[j * out_row + i] = in[i * in_row + j] for i and j from 0 to 15. No aliasing.
inline void transpose_tile(const float* in, std::int64_t in_row, float* out, std::int64_t out_row) {
  constexpr int kBlock = kRegisterLanes;
  for (int i = 0; i < kWidth; i += kBlock) {
    for (int j = 0; j < kWidth; j += kBlock) {
      Register block[kBlock];
      QUERN_UNROLL
      for (int r = 0; r < kBlock; ++r) block[r] = load<Register>(in + (i + r) * in_row + j);
      transpose(block);
      QUERN_UNROLL
      for (int r = 0; r < kBlock; ++r) store(out + (j + r) * out_row + i, block[r]);
    }
  }
}

/// Transposes 16 rows of 16 floats in place.
inline void transpose_tile(float (&tile)[kWidth][kWidth]) {
  constexpr int kBlock = kRegisterLanes;
  for (int i = 0; i < kWidth; i += kBlock) {
    for (int j = i; j < kWidth; j += kBlock) {
      Register upper[kBlock];
      Register lower[kBlock];
      for (int r = 0; r < kBlock; ++r) {
        upper[r] = load<Register>(&tile[i + r][j]);
        lower[r] = load<Register>(&tile[j + r][i]);
      }
      transpose(upper);
      transpose(lower);
      for (int r = 0; r < kBlock; ++r) {
        store(&tile[j + r][i], upper[r]);
        store(&tile[i + r][j], lower[r]);
      }
    }
  }
}

}  // namespace quern::simd

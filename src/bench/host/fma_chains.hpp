// SPDX-License-Identifier: Apache-2.0
// What the FMA peak of a CPU is measured with. Free of Kokkos, as all micro-kernels.
#pragma once

#include "linalg/host/simd.hpp"

namespace quern::host {

// Twelve chains hide the latency of a fused multiply-add on any current processor and leave room
// for the constants even with 16 registers of a quarter of a Vector.
#if defined(__AVX512F__)
inline constexpr int kFmaChains = 12;
#else
inline constexpr int kFmaChains = 5;
#endif

inline constexpr float kFmaFactor = 1 - 0x1p-10f;  // values stay normal numbers

/// The sum over chains c, in order, of sum_lanes(v_c): v_c begins as seed + c in all lanes and
/// becomes v f + f, fused, `rounds` times, f = kFmaFactor. Not inlined: in a large caller, as one
/// with Kokkos' serial back end is, GCC 12 keeps the chains in memory.
[[gnu::noinline]] inline float run_fma_chains(std::int64_t rounds, float seed) {
  simd::Vector chain[kFmaChains];
  for (int c = 0; c < kFmaChains; ++c) chain[c] = simd::broadcast(seed + static_cast<float>(c));
  const simd::Vector factor = simd::broadcast(kFmaFactor);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int c = 0; c < kFmaChains; ++c) chain[c] = simd::multiply_add(chain[c], factor, factor);
  }
  float sum = 0;
  for (int c = 0; c < kFmaChains; ++c) sum += simd::sum_lanes(chain[c]);
  return sum;
}

}  // namespace quern::host

// SPDX-License-Identifier: Apache-2.0
#include "linalg/fma_peak.hpp"

#include <algorithm>

#include "base/stopwatch.hpp"
#include "linalg/host/simd.hpp"

namespace quern {

namespace {

// Twelve chains hide the latency of a fused multiply-add on any current processor and leave room
// for the constants even with 16 registers of a quarter of a Vector.
#if defined(__AVX512F__)
constexpr int kChains = 12;
#else
constexpr int kChains = 5;
#endif

float run_chains(std::int64_t rounds, float seed) {
  simd::Vector chain[kChains];
  for (int c = 0; c < kChains; ++c) chain[c] = simd::broadcast(seed + static_cast<float>(c));
  const simd::Vector factor = simd::broadcast(0.999f + 1e-6f * seed);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int c = 0; c < kChains; ++c) chain[c] = chain[c] * factor + factor;
  }
  float sum = 0;
  for (int c = 0; c < kChains; ++c) sum += simd::sum_lanes(chain[c]);
  return sum;
}

}  // namespace

double measure_fma_peak(const ExecSpace& exec) {
  constexpr std::int64_t kRounds = 1000000;
  const int threads = exec.concurrency();
  const FloatView sink("quern::linalg::fma_peak_sink", static_cast<std::size_t>(threads) * kLanes);
  double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const Stopwatch watch;
    Kokkos::parallel_for("quern::linalg::fma_peak", RangePolicy(exec, 0, threads),
                         [=](std::int64_t t) {
                           sink(static_cast<std::size_t>(t * kLanes)) =
                               run_chains(kRounds, static_cast<float>(t + attempt));
                         });
    exec.fence("quern::linalg::fma_peak_end");
    const double flop = 2.0 * kLanes * kChains * static_cast<double>(kRounds) * threads;
    best = std::max(best, flop * 1e-9 / watch.seconds());
  }
  return best;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/stopwatch.hpp"
#include "bench/fma_peak.hpp"

namespace quern {

double measure_fma_peak(const ExecSpace& exec) {
  // Enough chains to hide the latency of one even where a multiprocessor is not full.
  constexpr int kChains = 8;
  constexpr int kRounds = 20000;
  const std::int64_t threads = exec.concurrency();
  const FloatView sink("quern::bench::fma_peak_sink", static_cast<std::size_t>(threads));
  double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    exec.fence("quern::bench::fma_peak_begin");
    const Stopwatch watch;
    Kokkos::parallel_for(
        "quern::bench::fma_peak", RangePolicy(exec, 0, threads), KOKKOS_LAMBDA(std::int64_t t) {
          const float seed = static_cast<float>(t + attempt);
          const float factor = 0.999f + 1e-6f * seed;
          float chain[kChains];
          for (int c = 0; c < kChains; ++c) chain[c] = seed + static_cast<float>(c);
          for (int round = 0; round < kRounds; ++round)
            for (float& value : chain) value = Kokkos::fma(value, factor, factor);
          float sum = 0;
          for (const float value : chain) sum += value;
          sink(t) = sum;
        });
    exec.fence("quern::bench::fma_peak_end");
    const double flop = 2.0 * kChains * kRounds * static_cast<double>(threads);
    best = std::max(best, flop * 1e-9 / watch.seconds());
  }
  return best;
}

}  // namespace quern

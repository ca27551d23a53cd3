// SPDX-License-Identifier: Apache-2.0
#include "bench/fma_peak.hpp"

#include <algorithm>

#include "base/stopwatch.hpp"
#include "bench/host/fma_chains.hpp"

namespace quern {

double measure_fma_peak(const ExecSpace& exec) {
  constexpr std::int64_t kRounds = 1000000;
  const int threads = exec.concurrency();
  const FloatView sink("quern::bench::fma_peak_sink", static_cast<std::size_t>(threads) * kLanes);
  double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const Stopwatch watch;
    Kokkos::parallel_for("quern::bench::fma_peak", RangePolicy(exec, 0, threads),
                         [=](std::int64_t t) {
                           sink(static_cast<std::size_t>(t * kLanes)) =
                               host::run_fma_chains(kRounds, static_cast<float>(t + attempt));
                         });
    exec.fence("quern::bench::fma_peak_end");
    const double flop = 2.0 * kLanes * host::kFmaChains * static_cast<double>(kRounds) * threads;
    best = std::max(best, flop * 1e-9 / watch.seconds());
  }
  return best;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "bench/memory_bandwidth.hpp"
#include "base/ceil_div.hpp"

#include <algorithm>

#include "base/stopwatch.hpp"

namespace quern {

// Thread t reads the floats t, t + threads, ...: neighbours read neighbours.
ReadBandwidth::ReadBandwidth(const ExecSpace& exec, std::int64_t bytes) {
  const auto threads = static_cast<std::int64_t>(exec.concurrency());
  const auto floats = bytes / static_cast<std::int64_t>(sizeof(float));
  floats_per_thread_ = std::max<std::int64_t>(1, ceil_div(floats, threads));
  values_ = FloatView("quern::bench::bandwidth_values",
                      static_cast<std::size_t>(threads * floats_per_thread_));
  sinks_ = FloatView("quern::bench::bandwidth_sinks", static_cast<std::size_t>(threads));
}

double ReadBandwidth::measure(const ExecSpace& exec) const {
  constexpr std::int64_t kBytesPerTry = std::int64_t{1} << 32;
  const auto threads = static_cast<std::int64_t>(exec.concurrency());
  const FloatView values = values_;
  const FloatView sinks = sinks_;
  const std::int64_t count = floats_per_thread_;
  const auto array_bytes = threads * count * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t passes = ceil_div(kBytesPerTry, array_bytes);
  double best = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    exec.fence("quern::bench::bandwidth_begin");
    const Stopwatch watch;
    Kokkos::parallel_for(
        "quern::bench::bandwidth", RangePolicy(exec, 0, threads), KOKKOS_LAMBDA(std::int64_t t) {
          float sum = 0;
          for (std::int64_t pass = 0; pass < passes; ++pass)
            for (std::int64_t i = 0; i < count; ++i) sum += values(i * threads + t);
          sinks(t) = sum;
        });
    exec.fence("quern::bench::bandwidth_end");
    best = std::max(best, static_cast<double>(array_bytes * passes) / watch.seconds());
  }
  return best;
}

}  // namespace quern

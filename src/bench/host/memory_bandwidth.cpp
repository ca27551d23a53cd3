// SPDX-License-Identifier: Apache-2.0
#include "bench/memory_bandwidth.hpp"
#include "base/ceil_div.hpp"

#include <algorithm>

#include "base/stopwatch.hpp"
#include "linalg/host/simd.hpp"

namespace quern {

namespace {

// Independent sums hide the latency of an addition.
constexpr int kSums = 8;
constexpr std::int64_t kStep = kSums * kLanes;

float sum_array(const float* values, std::int64_t count, std::int64_t passes) {
  simd::Vector sum[kSums] = {};
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (std::int64_t i = 0; i < count; i += kStep) {
      for (int s = 0; s < kSums; ++s) sum[s] += simd::load(values + i + s * kLanes);
    }
  }
  float total = 0;
  for (int s = 0; s < kSums; ++s) total += simd::sum_lanes(sum[s]);
  return total;
}

std::int64_t round_up_to_step(std::int64_t count) {
  return round_up(count, kStep);
}

}  // namespace

ReadBandwidth::ReadBandwidth(const ExecSpace& exec, std::int64_t bytes) {
  const auto threads = static_cast<std::int64_t>(exec.concurrency());
  floats_per_thread_ = round_up_to_step(
      std::max<std::int64_t>(1, bytes / static_cast<std::int64_t>(sizeof(float)) / threads));
  values_ =
      FloatView(Kokkos::view_alloc("quern::bench::bandwidth_values", Kokkos::WithoutInitializing),
                static_cast<std::size_t>(threads * floats_per_thread_));
  sinks_ = FloatView("quern::bench::bandwidth_sinks", static_cast<std::size_t>(threads * kLanes));
  const FloatView values = values_;
  const std::int64_t count = floats_per_thread_;
  Kokkos::parallel_for("quern::bench::bandwidth_touch", RangePolicy(exec, 0, threads),
                       [=](std::int64_t t) {
                         float* mine = values.data() + t * count;
                         std::fill(mine, mine + count, 1.0f);
                       });
  exec.fence("quern::bench::bandwidth_touched");
}

double ReadBandwidth::measure(const ExecSpace& exec) const {
  constexpr std::int64_t kFloatsPerTry = std::int64_t{32} << 20;
  const auto threads = static_cast<std::int64_t>(exec.concurrency());
  const FloatView values = values_;
  const FloatView sinks = sinks_;
  const std::int64_t count = floats_per_thread_;
  const std::int64_t passes = ceil_div(kFloatsPerTry, count);
  double best = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const Stopwatch watch;
    Kokkos::parallel_for("quern::bench::bandwidth", RangePolicy(exec, 0, threads),
                         [=](std::int64_t t) {
                           sinks(static_cast<std::size_t>(t * kLanes)) =
                               sum_array(values.data() + t * count, count, passes);
                         });
    exec.fence("quern::bench::bandwidth_end");
    const auto bytes = static_cast<double>(threads * count * passes) * sizeof(float);
    best = std::max(best, bytes / watch.seconds());
  }
  return best;
}

}  // namespace quern

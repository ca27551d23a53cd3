// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/network.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "base/stopwatch.hpp"
#include "comm/exchange.hpp"

namespace quern {

namespace {

constexpr int kFloats = 1 << 18;
constexpr int kRepeats = 4;  // the first one warms up
constexpr int kSmall = 20;

// Element i of rank r is (r + 1) * (i % 7): small integers, whose sums floats hold exactly.
bool sum_is_right(std::span<const float> sums, int ranks) {
  const double total = 0.5 * ranks * (ranks + 1);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double expected = total * static_cast<double>(i % 7);
    if (std::abs(static_cast<double>(sums[i]) - expected) > 1e-6 * (expected + 1)) return false;
  }
  return true;
}

double seconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

NetworkFacts measure_network(Communicator& comm) {
  NetworkFacts facts;
  facts.bytes = std::int64_t{kFloats} * std::int64_t{sizeof(float)};
  std::vector<float> values(kFloats);
  std::int64_t wrong = 0;
  double best = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>((comm.rank() + 1) * static_cast<int>(i % 7));
    }
    comm.barrier();
    const Stopwatch watch;
    comm.all_reduce_sum(std::span<float>(values));
    const double seconds = watch.seconds();
    if (!sum_is_right(values, comm.size())) wrong = 1;
    if (repeat == 1 || (repeat > 1 && seconds < best)) best = seconds;
  }
  const Stopwatch watch;
  for (int repeat = 0; repeat < kSmall; ++repeat) {
    std::int64_t one = 1;
    comm.all_reduce_sum(std::span(&one, 1));
    if (one != comm.size()) wrong = 1;
  }
  facts.latency_s = watch.seconds() / kSmall;
  comm.all_reduce_max(std::span(&wrong, 1));
  facts.all_reduce_is_right = wrong == 0;
  facts.bytes_per_s = static_cast<double>(facts.bytes) / std::max(best, 1e-9);
  facts.bus_bytes_per_s = facts.bytes_per_s * 2 * (comm.size() - 1) / comm.size();
  return facts;
}

double measure_clock_offset(Communicator& comm) {
  double offset = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    comm.barrier();
    const double here = seconds_now();
    const double difference = here - broadcast_value(comm, here);
    // A rank that was late out of the barrier looks ahead: the smallest difference is the best.
    if (repeat == 0 || std::abs(difference) < std::abs(offset)) offset = difference;
  }
  return offset;
}

}  // namespace quern

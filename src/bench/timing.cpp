// SPDX-License-Identifier: Apache-2.0
#include "bench/timing.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"

namespace quern {

Spread spread_of(std::vector<double> values) {
  expect(!values.empty(), "at least one measurement");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
  return {median, values.front(), values.back()};
}

double slowest_rank_s(Communicator& comm, double seconds) {
  auto nanoseconds = static_cast<std::int64_t>(std::llround(seconds * 1e9));
  comm.all_reduce_max(std::span(&nanoseconds, 1));
  return static_cast<double>(nanoseconds) * 1e-9;
}

int calls_that_fill(double target_s, double call_s, int least, int most) {
  if (call_s * most <= target_s) return most;
  return std::clamp(static_cast<int>(target_s / call_s), least, most);
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "train/target_variance.hpp"

#include <numeric>
#include <vector>

#include "train/sample_sums.hpp"

namespace quern {

double variance_of_targets(Communicator& comm, const Samples& samples) {
  if (!samples.has_targets()) return 0;
  const std::int64_t units = samples.target_units();
  const SummedArray<float> targets(samples, samples.targets, {units, 1});
  const auto count = static_cast<double>(samples.count);
  std::vector<double> mean =
      sum_all(comm, targets, [](float value, std::int64_t) { return double{value}; });
  for (double& value : mean) value /= count;
  const std::vector<double> squares = sum_all(comm, targets, [&](float value, std::int64_t unit) {
    const double distance = double{value} - mean[static_cast<std::size_t>(unit)];
    return distance * distance;
  });
  const double sum = std::accumulate(squares.begin(), squares.end(), 0.0);
  return sum / (count * static_cast<double>(units));
}

}  // namespace quern

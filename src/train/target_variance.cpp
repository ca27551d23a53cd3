// SPDX-License-Identifier: Apache-2.0
#include "train/target_variance.hpp"

#include <vector>

namespace quern {

double variance_of_targets(const Samples& samples) {
  if (samples.targets.extent(0) == 0) return 0;
  const auto targets = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), samples.targets);
  const auto count = static_cast<std::size_t>(samples.count);
  const std::size_t units = targets.extent(0) / count;
  std::vector<double> mean(units, 0);
  for (std::size_t i = 0; i < targets.extent(0); ++i) mean[i % units] += double{targets(i)};
  for (double& value : mean) value /= static_cast<double>(count);
  double squares = 0;
  for (std::size_t i = 0; i < targets.extent(0); ++i) {
    const double distance = double{targets(i)} - mean[i % units];
    squares += distance * distance;
  }
  return squares / static_cast<double>(targets.extent(0));
}

}  // namespace quern

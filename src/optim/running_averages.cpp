// SPDX-License-Identifier: Apache-2.0
#include "optim/running_averages.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace quern {

RunningAverages::RunningAverages(const ParameterTable& table, std::int64_t begin, std::int64_t end)
    : begin_(std::max(begin, table.trained_size())) {
  const std::int64_t last = std::min(end, table.reduced_size());
  if (last <= begin_) return;
  const auto count = static_cast<std::size_t>(last - begin_);
  const View<float> momentum("quern::optim::momentum_of_buffers", count);
  const Kokkos::View<float*, Kokkos::HostSpace> host("quern::optim::host_momentum_of_buffers",
                                                     count);
  for (const ParameterEntry& entry : table.entries()) {
    if (!entry.is_buffer()) continue;
    for (std::int64_t i = 0; i < entry.count; ++i) {
      const std::int64_t place = entry.position(i);
      if (place >= begin_ && place < last) host(place - begin_) = entry.average.momentum;
    }
  }
  Kokkos::deep_copy(momentum, host);
  momentum_ = momentum;
}

void RunningAverages::update(const ExecSpace& exec, const StepScalarsView& scalars,
                             const FloatView& parameters, const ConstFloatView& statistics) const {
  const auto count = static_cast<std::int64_t>(momentum_.extent(0));
  if (count == 0) return;
  expect(begin_ + count <= static_cast<std::int64_t>(parameters.extent(0)) &&
             begin_ + count <= static_cast<std::int64_t>(statistics.extent(0)),
         "whole blocks");
  float* value = parameters.data() + begin_;
  const float* statistic = statistics.data() + begin_;
  const View<const float> momentum = momentum_;
  Kokkos::parallel_for(
      "quern::optim::running_averages", RangePolicy(exec, 0, count), KOKKOS_LAMBDA(std::int64_t i) {
        // What lies between the buffers has a momentum of 0, and statistics of its own accord.
        if (!scalars().apply_updates || momentum(i) == 0) return;
        value[i] = (1 - momentum(i)) * value[i] + momentum(i) * statistic[i];
      });
}

}  // namespace quern

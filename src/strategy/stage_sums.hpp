// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/process_grid.hpp"
#include "parallel/gradient_reducer.hpp"

namespace quern {

/// What all ranks need to know of a step and some of them know: the loss, which the last stage has,
/// and the votes, which any rank may have. Adds zeros to the loss, so that the bits stay.
class StageSums {
 public:
  /// The grid's world outlives it.
  explicit StageSums(const ProcessGrid& grid);

  /// Collective over grid.pipeline() and grid.tensor(): sums of all stages, and votes of all ranks,
  /// in place of this rank's own. The host waits. Nothing happens where the network is not split.
  ReducedGradient add(const ExecSpace& exec, ReducedGradient gradient) const;

 private:
  ProcessGrid grid_;
  FloatView all_;
  Kokkos::View<float*, Kokkos::LayoutRight, Kokkos::HostSpace> host_;  // of all_; on CPUs the same
};

}  // namespace quern

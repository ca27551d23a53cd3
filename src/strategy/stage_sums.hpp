// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/process_grid.hpp"
#include "parallel/gradient_reducer.hpp"

namespace quern {

/// What all stages need to know of a step and one of them knows: the loss, which the last stage
/// has, and the votes, which any of them may have. Adds zeros, so that the bits stay.
class StageSums {
 public:
  /// The grid's world outlives it.
  explicit StageSums(const ProcessGrid& grid);

  /// Collective over grid.pipeline(): sums and votes of all stages in place of this rank's own. The
  /// host waits. Nothing happens where there is one stage.
  ReducedGradient add(const ExecSpace& exec, ReducedGradient gradient) const;

 private:
  ProcessGrid grid_;
  FloatView all_;
};

}  // namespace quern

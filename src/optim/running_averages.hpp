// SPDX-License-Identifier: Apache-2.0
// The buffers of the parameter block: running averages of what the batches gave.
#pragma once

#include "tensor/parameter_block.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

class RunningAverages {
 public:
  /// None.
  RunningAverages() = default;
  /// Of the buffers in the floats [begin, end) of the block; what is after the block counts as its
  /// end.
  RunningAverages(const ParameterTable& table, std::int64_t begin, std::int64_t end);

  /// value = (1 - momentum) value + momentum statistic, as PyTorch's running statistics.
  /// `statistics`: the reduced gradient block, which holds the batch's statistic in the place of a
  /// buffer. Both are whole blocks. Changes nothing unless scalars().apply_updates.
  void update(const ExecSpace& exec, const StepScalarsView& scalars, const FloatView& parameters,
              const ConstFloatView& statistics) const;

 private:
  std::int64_t begin_ = 0;
  View<const float> momentum_;  // of every float from begin_ on
};

}  // namespace quern

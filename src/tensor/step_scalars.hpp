// SPDX-License-Identifier: Apache-2.0
// The numbers that change from step to step, kept where the kernels run: no kernel takes them as a
// host argument, so a whole step can be captured once and replayed.
#pragma once

#include <cstdint>

#include "tensor/types.hpp"

namespace quern {

struct StepScalars {
  std::int64_t step = 0;      ///< optimizer steps done before this one
  std::int64_t epoch = 0;     ///< epoch of this step, from 0
  std::int64_t cursor = 0;    ///< samples of this epoch consumed before this step
  std::int64_t plateaus = 0;  ///< TrainingProgress::plateaus
  std::uint64_t seed = 0;
  float learning_rate = 0;    ///< of this step
  float gradient_scale = 1;   ///< clipping: factor on the gradient of this step
  float inverse_count = 1;    ///< 1 / samples of this global batch
  bool apply_updates = true;  ///< false once a loss was not finite: nothing changes any more
};

using StepScalarsView = ScalarView<StepScalars>;

}  // namespace quern

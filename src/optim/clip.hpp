// SPDX-License-Identifier: Apache-2.0
// Clipping by the global L2 norm, as torch.nn.utils.clip_grad_norm_.
#pragma once

#include "tensor/step_scalars.hpp"

namespace quern {

/// Finds the factor that limits the norm of a flat gradient block; the optimizer applies it.
class GradientClip {
 public:
  /// `max_norm` 0: no clipping. `block_size`: floats of the flat parameter block.
  GradientClip(double max_norm, std::int64_t block_size);

  /// Does it need the gradient?
  bool is_active() const { return max_norm_ > 0; }

  /// Overwrites scalars().gradient_scale with min(1, max_norm / (norm + 1e-6)), norm = L2 norm of
  /// the first block_size floats of `gradient`. Does nothing without clipping. The norm is summed
  /// in double in a fixed order: the same bits for any number of threads. A norm that is not finite
  /// gives a factor of 0 or NaN, as in PyTorch.
  void set_scale(const ExecSpace& exec, const StepScalarsView& scalars,
                 const ConstFloatView& gradient) const;

 private:
  double max_norm_;
  std::int64_t block_size_;
  View<double> chunk_sums_;
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Clipping by the global L2 norm, as torch.nn.utils.clip_grad_norm_.
#pragma once

#include <vector>

#include "optim/spread_squares.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

/// Finds the factor that limits the norm of a flat gradient block; the optimizer applies it.
class GradientClip {
 public:
  /// Squares are summed up in chunks of so many floats: part of the order of summation, and of what
  /// the bits of clipped runs depend on.
  static constexpr std::int64_t kChunk = SpreadChunks::kChunk;

  /// `max_norm` 0: no clipping. `block_size`: floats of the flat parameter block.
  GradientClip(double max_norm, std::int64_t block_size);

  /// The gradient is spread over ranks, of which this is rank `rank`: `ranges` are those of each,
  /// and together everything. Before set_scale().
  void spread(const std::vector<std::vector<SpreadRange>>& ranges, int rank);

  /// Does it need the gradient?
  bool is_active() const { return max_norm_ > 0; }

  /// Overwrites scalars().gradient_scale with min(1, max_norm / (norm + 1e-6)), norm = L2 norm of
  /// the first block_size floats of `gradient`. Does nothing without clipping. The norm is summed
  /// in double in a fixed order: the same bits for any number of threads. A norm that is not finite
  /// gives a factor of 0 or NaN, as in PyTorch. After spread(): `gradient` is the rank's own, of
  /// which only its ranges count, and `all_gather` is expected. The bits are those without.
  void set_scale(const ExecSpace& exec, const StepScalarsView& scalars,
                 const ConstFloatView& gradient, const AllGather& all_gather = {}) const;

 private:
  double max_norm_;
  std::int64_t block_size_;
  std::int64_t least_floats_ = 0;  // of a gradient
  SpreadSquares squares_;
  SpreadSquares::Share share_;
};

}  // namespace quern

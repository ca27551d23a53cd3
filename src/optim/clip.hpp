// SPDX-License-Identifier: Apache-2.0
// Clipping by the global L2 norm, as torch.nn.utils.clip_grad_norm_.
#pragma once

#include <functional>
#include <vector>

#include "tensor/parameter_block.hpp"
#include "tensor/step_scalars.hpp"

namespace quern {

/// Finds the factor that limits the norm of a flat gradient block; the optimizer applies it.
class GradientClip {
 public:
  /// Squares are summed up in chunks of so many floats: part of the order of summation, and of what
  /// the bits of clipped runs depend on.
  static constexpr std::int64_t kChunk = 4096;

  /// `max_norm` 0: no clipping. `block_size`: floats of the flat parameter block.
  GradientClip(double max_norm, std::int64_t block_size);

  /// The gradient is spread over the ranks: this is rank `rank`, and `ranges` are those of each,
  /// whole chunks, rising; together everything. Before set_scale().
  void spread(const std::vector<std::vector<BlockRange>>& ranges, int rank);

  /// Does it need the gradient?
  bool is_active() const { return max_norm_ > 0; }

  /// Overwrites scalars().gradient_scale with min(1, max_norm / (norm + 1e-6)), norm = L2 norm of
  /// the first block_size floats of `gradient`. Does nothing without clipping. The norm is summed
  /// in double in a fixed order: the same bits for any number of threads. A norm that is not finite
  /// gives a factor of 0 or NaN, as in PyTorch. After spread(): of the gradient only the rank's own
  /// ranges count, and `all_gather` is to give everybody everybody's floats of the array it gets,
  /// whose equal parts are in rank order. The bits are those without.
  void set_scale(const ExecSpace& exec, const StepScalarsView& scalars,
                 const ConstFloatView& gradient,
                 const std::function<void(const FloatView& all)>& all_gather = {}) const;

 private:
  double max_norm_;
  std::int64_t block_size_;
  View<std::int64_t> chunks_;     // that this rank sums up
  View<std::int64_t> sum_place_;  // in sums_, of every chunk of the block
  std::int64_t first_sum_ = 0;    // of this rank, in sums_
  View<double> sums_;             // a part for each rank
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// From sums over samples to the numbers of each channel by which batch normalisation works.
#pragma once

#include "layers/batch_norm_kernels.hpp"

namespace quern {

struct NormChannels {
  int count;
  std::int64_t padded;
  float eps;
};

/// What is overwritten: NormSets, and a row for each block.
struct NormOutputs {
  float* sets;
  float* rows;
};

/// Where statistics of the batch stand in the partial sums of the gradient: means, then variances.
struct BufferPlace {
  GradientSums gradients;
  std::int64_t offset;
  int num_partial_sums;
  bool is_first;  ///< of the ranks; the others hand on zeros
};

/// The set of the running statistics, means and then variances.
void set_running_statistics(const ExecSpace& exec, const float* running,
                            const NormChannels& channels, float* sets);

/// Mean and number of samples of the one set, from the global batch's BlockStatistics `totals`; as
/// 1 / standard deviation for the time being what the blocks' squares come to. Rows: squared
/// distances of the blocks' means (`statistics`) from it, times the block's values.
void set_means(const ExecSpace& exec, const float* totals, const NormBatch& batch, int num_blocks,
               const NormChannels& channels, const float* statistics, const NormOutputs& out);

/// Completes the set that set_means() began with the sum of its rows, and hands on the batch's
/// statistics.
void set_variances(const ExecSpace& exec, const float* distances, const NormBatch& batch,
                   const NormChannels& channels, float* sets, const BufferPlace& place);

/// A set for each block from its `statistics`. Rows: its share in the batch's statistics, means and
/// then variances.
void set_blocks(const ExecSpace& exec, const float* statistics, const NormBatch& batch,
                int num_blocks, const NormChannels& channels, const StepScalarsView& scalars,
                const NormOutputs& out);

/// NormGradient for each of `num_sets` sets, from sums of dy (x - mean) inverse_std and of dy.
void set_gradients(const ExecSpace& exec, const float* sums, int num_sets, const NormBatch& batch,
                   const NormSets& sets, float* gradients);

/// The NormGradient of one set that does not depend on x: zeros.
void set_no_gradients(const ExecSpace& exec, std::int64_t padded, float* gradients);

}  // namespace quern

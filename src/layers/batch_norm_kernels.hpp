// SPDX-License-Identifier: Apache-2.0
// The passes of batch normalisation over activations. There are two sets of them, in host/ and
// device/, with the same bits. All leave empty rows out, and put zeros where they write them.
#pragma once

#include "layers/layer.hpp"

namespace quern {

/// What the kernels know of the layer and the batch; plain data.
struct NormBatch {
  ActivationIndex at;
  int channels;
  int pixels;  ///< of a channel
  int rows;
  int block_rows;
  const std::int64_t* sample_of_row;
  /// x and dy are read as bfloat16: rounded where they are floats, which they are unless they are
  /// in nchw16n_bf16.
  bool rounds = false;
  bool rounded_x = false;
  bool rounded_dy = false;

  int num_blocks() const { return rows / block_rows; }
  /// Channels take whole groups of lanes wherever numbers of each are stored.
  KOKKOS_INLINE_FUNCTION std::int64_t padded() const { return round_up_to_lanes(channels); }

  KOKKOS_INLINE_FUNCTION int samples_of_block(std::int64_t block) const {
    int samples = 0;
    for (std::int64_t row = block * block_rows; row < (block + 1) * block_rows; ++row)
      if (sample_of_row[row] >= 0) ++samples;
    return samples;
  }
  /// Values of a channel in so many samples.
  KOKKOS_INLINE_FUNCTION float values(float samples) const {
    return samples * static_cast<float>(pixels);
  }
};

/// Sums of one block: of x, of the squared distances from the block's own mean, and in the first
/// of the last group the number of samples.
struct BlockStatistics {
  static constexpr std::int64_t floats(std::int64_t padded) { return 2 * padded + kLanes; }
};

/// Means and so on by which a row is normalised: one set for all blocks, or one a block.
struct NormSets {
  const float* data;
  std::int64_t stride;  ///< from set to set; 0: one for all blocks
  std::int64_t padded;

  static constexpr std::int64_t floats(std::int64_t padded) { return 2 * padded + kLanes; }

  KOKKOS_INLINE_FUNCTION const float* mean(std::int64_t block) const {
    return data + block * stride;
  }
  /// 1 / sqrt(variance + eps)
  KOKKOS_INLINE_FUNCTION const float* inverse_std(std::int64_t block) const {
    return mean(block) + padded;
  }
  KOKKOS_INLINE_FUNCTION float samples(std::int64_t block) const { return mean(block)[2 * padded]; }
};

/// y = (x - mean) inverse_std scale + shift, and of it the ReLU; or y + addend, and of it the ReLU.
struct NormFunction {
  NormSets sets;
  const float* scale;
  const float* shift;
  bool relu;
  const float* addend;  ///< laid out as x; null: none
  bool relu_of_sum;
  bool rounds;  ///< y is in nchw16n_bf16
};

/// dx = factor (dy - mean_dy - (x - mean) slope), dy in front of the ReLU; laid out as NormSets.
struct NormGradient {
  const float* data;
  std::int64_t stride;
  std::int64_t padded;
  bool rounds = false;  ///< dx is in nchw16n_bf16

  KOKKOS_INLINE_FUNCTION const float* mean_dy(std::int64_t block) const {
    return data + block * stride;
  }
  KOKKOS_INLINE_FUNCTION const float* slope(std::int64_t block) const {
    return mean_dy(block) + padded;
  }
};

// Sums along the lanes of nchw16n take so many chains: neighbouring pixels go to different ones, so
// that an addition need not wait for the one before. They are part of the order of summation.
inline constexpr int kStatisticChains = 4;
inline constexpr int kGradientChains = 2;

struct BatchNormKernels {
  /// Can read x and dy as bfloat16 (NormBatch::rounds), and write y and dx in nchw16n_bf16.
  bool rounds = false;

  /// Overwrites rows of BlockStatistics, one for each block.
  void (*block_statistics)(const ExecSpace& exec, const NormBatch& batch, const float* x,
                           float* statistics);
  void (*normalize)(const ExecSpace& exec, const NormBatch& batch, const NormFunction& function,
                    const float* x, float* y);
  /// Overwrites rows of 2 padded floats, one for each block: the sums of dy (x - mean) inverse_std
  /// and of dy, dy in front of the ReLU.
  void (*block_gradients)(const ExecSpace& exec, const NormBatch& batch,
                          const NormFunction& function, const float* x, const float* dy,
                          float* gradients);
  /// dx may be dy where both are in the same layout.
  void (*input_gradient)(const ExecSpace& exec, const NormBatch& batch,
                         const NormFunction& function, const NormGradient& gradient, const float* x,
                         const float* dy, float* dx);
};

namespace host {
const BatchNormKernels& batch_norm_kernels();
}
namespace device {
const BatchNormKernels& batch_norm_kernels();
}

/// Those that run here (tensor/kernel_choice.hpp).
const BatchNormKernels& batch_norm_kernels();

}  // namespace quern

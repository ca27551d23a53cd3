// SPDX-License-Identifier: Apache-2.0
// The passes of group normalisation over images in nchw16n. There are two sets of them, in host/
// and device/, with the same bits. Empty rows need no care: their x is finite and their dy zero.
#pragma once

#include "base/ceil_div.hpp"
#include "layers/layer.hpp"

namespace quern {

/// What the kernels know of the layer and the batch; plain data. A group is 16 samples, as
/// everywhere; what PyTorch calls a group, so many neighbouring channels, is a set here.
struct ChannelNorm {
  // Sums over the pixels of a channel take segments of so many, and the pixels of a segment go to
  // so many chains in turn. Both are part of the order of summation.
  static constexpr int kSegment = 128;
  static constexpr int kChains = 4;

  int rows;
  int channels;
  int pixels;
  int sets;
  int block_rows;
  float* mean;         ///< [rows / 16, sets, 16], which forward writes and backward reads
  float* inverse_std;  ///< the same: 1 / sqrt(variance + eps)
  float* sums;         ///< [2, rows / 16, channels, 16]: backward's sums over pixels
  const float* scale;  ///< [channels]
  const float* shift;
  float eps;
  bool relu;

  int num_blocks() const { return rows / block_rows; }
  std::int64_t num_groups() const { return rows / kLanes; }
  KOKKOS_INLINE_FUNCTION int channels_of_set() const { return channels / sets; }
  KOKKOS_INLINE_FUNCTION std::int64_t padded() const { return round_up_to_lanes(channels); }
  /// Where sums of dy begin those of dy (x - mean).
  KOKKOS_INLINE_FUNCTION std::int64_t second_sum() const { return std::int64_t{rows} * channels; }
  KOKKOS_INLINE_FUNCTION std::int64_t plane(std::int64_t group, int channel) const {
    return (group * channels + channel) * pixels * kLanes;
  }
  KOKKOS_INLINE_FUNCTION float mean_of(float sum) const {
    return sum / static_cast<float>(channels_of_set() * pixels);
  }
  KOKKOS_INLINE_FUNCTION float inverse_std_of(float squares) const {
    return 1 / Kokkos::sqrt(mean_of(squares) + eps);
  }
};

struct GroupNormKernels {
  /// Overwrites y, and means and inverse deviations. May overwrite the sums.
  void (*normalize)(const ExecSpace& exec, const ChannelNorm& norm, const float* x, float* y);
  /// Overwrites the sums, and dx, which may be dy, or null.
  void (*backward)(const ExecSpace& exec, const ChannelNorm& norm, const float* x, const float* dy,
                   float* dx);
  /// After backward. Overwrites rows of 2 padded floats, one for each micro-block: the sums of dy
  /// times the normalised x and of dy.
  void (*parameter_gradients)(const ExecSpace& exec, const ChannelNorm& norm, float* gradients);
};

namespace host {
const GroupNormKernels& group_norm_kernels();
}
namespace device {
const GroupNormKernels& group_norm_kernels();
}

/// Those that run here (tensor/kernel_choice.hpp).
const GroupNormKernels& group_norm_kernels();

}  // namespace quern

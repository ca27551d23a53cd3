// SPDX-License-Identifier: Apache-2.0
// The passes of layer normalisation over activations. There are two sets of them, in host/ and
// device/, with the same bits. Empty rows need no care: their x is finite and their dy zero.
#pragma once

#include "base/ceil_div.hpp"
#include "layers/layer.hpp"

namespace quern {

/// An activation as lines of sixteens of floats, which kernels walk along. In nchw16n a line is a
/// group of 16 samples, and a sixteen one unit of each. In nc and cn16c a line is a row, and a
/// sixteen 16 neighbouring units, the last of which may be padding.
struct SampleLines {
  // Sums along a line take segments of so many sixteens, and of a group of samples the sixteens of
  // a segment go to so many chains in turn. Both are part of the order of summation.
  static constexpr int kSegment = 128;
  static constexpr int kGroupChains = 4;

  bool are_groups;
  int units;
  int rows;
  int lines;
  int sixteens;
  std::int64_t line_stride;
  std::int64_t sixteen_stride;

  explicit SampleLines(const Activation& x);

  int segments() const { return segments_of(sixteens); }
  KOKKOS_INLINE_FUNCTION static int segments_of(int sixteens) {
    return ceil_div(sixteens, kSegment);
  }
  KOKKOS_INLINE_FUNCTION std::int64_t place(std::int64_t line, std::int64_t sixteen) const {
    return line * line_stride + sixteen * sixteen_stride;
  }
};

/// What the kernels know of the layer and the batch; plain data.
struct SampleNorm {
  SampleLines lines;
  int block_rows;
  float* mean;         ///< [rows], which forward writes and backward reads
  float* inverse_std;  ///< the same: 1 / sqrt(variance + eps)
  const float* scale;  ///< [units], and zeros up to a multiple of 16
  const float* shift;
  float eps;
  bool relu;

  int num_blocks() const { return lines.rows / block_rows; }
  KOKKOS_INLINE_FUNCTION std::int64_t padded() const { return round_up_to_lanes(lines.units); }
  KOKKOS_INLINE_FUNCTION float mean_of(float sum) const {
    return sum / static_cast<float>(lines.units);
  }
  KOKKOS_INLINE_FUNCTION float inverse_std_of(float squares) const {
    return 1 / Kokkos::sqrt(mean_of(squares) + eps);
  }
};

struct LayerNormKernels {
  /// Floats of `workspace` below, for `rows` samples of `units` in any layout.
  std::int64_t (*workspace_floats)(int units, int rows);
  /// Overwrites y, and means and inverse deviations.
  void (*normalize)(const ExecSpace& exec, const SampleNorm& norm, const float* x, float* y,
                    float* workspace);
  /// Overwrites rows of 2 padded floats, one for each micro-block: the sums of dy times the
  /// normalised x and of dy.
  void (*parameter_gradients)(const ExecSpace& exec, const SampleNorm& norm, const float* x,
                              const float* dy, float* gradients);
  /// Overwrites dx, which may be dy.
  void (*input_gradient)(const ExecSpace& exec, const SampleNorm& norm, const float* x,
                         const float* dy, float* dx, float* workspace);
};

namespace host {
const LayerNormKernels& layer_norm_kernels();
}
namespace device {
const LayerNormKernels& layer_norm_kernels();
}

/// Those that run here (tensor/kernel_choice.hpp).
const LayerNormKernels& layer_norm_kernels();

}  // namespace quern

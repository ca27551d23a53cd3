// SPDX-License-Identifier: Apache-2.0
// Direct convolution on activations in Layout::nchw16n. Reference: layers/reference/conv2d.hpp.
// in_height and in_width of the shape include the border of zeros.
#pragma once

#include <algorithm>

#include "layers/conv_shape.hpp"
#include "linalg/block_schedule.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

/// The lane groups from `first` on, of at most `most` samples each.
struct FewRows {
  BlockSchedule schedule;
  int first;
  int most;

  int groups() const { return schedule.rows() / kLanes - first; }
  int rows() const { return groups() * kLanes; }
  /// Of a group, counted from the first of the batch. An empty one is computed as if it had one.
  int samples(int group) const { return std::max(1, schedule.samples_of_group(group)); }
};

/// Kernels for lane groups with few samples, which leave most lanes of the others empty. The same
/// bits, and zeros where a row holds no sample. Packed weights are of an order of their own.
struct Conv2dFewRowsKernels {
  /// Up to how many samples these are faster than the others; 0: never.
  int (*most_forward)(const ConvShape& shape);
  std::int64_t (*forward_floats)(const ConvShape& shape);
  void (*pack_forward)(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                       float* packed);
  void (*forward)(const ExecSpace& exec, const ConvShape& shape, const FewRows& few, const float* x,
                  const float* weights, const float* bias, bool with_relu, float* y);

  int (*most_gradient)(const ConvShape& shape);
  std::int64_t (*gradient_floats)(const ConvShape& shape);
  void (*pack_gradient)(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                        float* packed);
  void (*input_gradient)(const ExecSpace& exec, const ConvShape& shape, const FewRows& few,
                         const float* dy, const float* weights, const float* x_mask, float* dx);
};

/// The kernels of a convolution: in host/ vectorised over 16 samples, in device/ one lane of a
/// micro-tile per thread, with the same order of fused multiply-adds for every element. Those that
/// round their operands (host/conv2d_bf16.cpp, device/conv2d_tensor.hpp) add in orders of their
/// own.
struct Conv2dKernels {
  /// Whether forward and gradients take x, dx and x_mask without their border, ConvShape::padding
  /// wide. Others expect arrays that hold it (pad, crop), and a shape with padding 0.
  bool adds_borders;

  /// Whether arrays may be in nchw16n_bf16 (ConvShape::rounded_x and so on): x and dy as the
  /// products would round them, y and dx rounded when they are stored. A bias gradient, x_mask and
  /// a dx to which something is added are floats.
  bool rounds = false;

  /// A sample must have fewer values, padding included; 0: there may be any number.
  std::int64_t max_values = 0;

  /// For groups with few samples; null: there are none. The weight gradient looks by itself.
  const Conv2dFewRowsKernels* few_rows = nullptr;

  /// Floats that each thread needs of scratch() (layers/host/scratch.hpp), at most; null: none.
  std::int64_t (*scratch_floats)(int threads, const ConvShape& shape,
                                 const BatchLimit& most) = nullptr;

  /// Weights [O, C, K, K] in the order in which `forward` reads them: forward_floats() floats, from
  /// a 16 byte boundary on. Overwrites `packed`.
  std::int64_t (*forward_floats)(const ConvShape& shape);
  void (*pack_forward)(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                       float* packed);

  /// The same for `input_gradient`.
  std::int64_t (*gradient_floats)(const ConvShape& shape);
  void (*pack_gradient)(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                        float* packed);

  /// y = W * x + b, then max(y, 0) if `with_relu`. Overwrites y. x [S, C, H, W], packed weights,
  /// bias [O] or null for none, y [S, O, H_out, W_out]. 2 S O H_out W_out C K K flop.
  void (*forward)(const ExecSpace& exec, const ConvShape& shape, int batch_rows, const float* x,
                  const float* weights, const float* bias, bool with_relu, float* y);

  /// dx = sum over outputs of W dy. Overwrites dx. With x_mask [S, C, H, W], the output of a ReLU,
  /// dx becomes 0 where it is not above 0.
  void (*input_gradient)(const ExecSpace& exec, const ConvShape& shape, int batch_rows,
                         const float* dy, const float* weights, const float* x_mask, float* dx);

  /// The same added to what dx holds; x_mask decides about the sum. Only with adds_borders. Null:
  /// there is none.
  void (*add_input_gradient)(const ExecSpace& exec, const ConvShape& shape, int batch_rows,
                             const float* dy, const float* weights, const float* x_mask,
                             float* dx) = nullptr;

  /// Weight gradient of this rank's blocks by the block tree: partial sum p at
  /// partial_sums.data[p * stride + offset], PyTorch's order. Overwrites. `workspace` holds
  /// workspace_floats() floats for as many rows as the schedule has, and is overwritten.
  std::int64_t (*workspace_floats)(const ConvShape& shape, int max_rows);
  void (*weight_gradient)(const ExecSpace& exec, const ConvShape& shape,
                          const BlockSchedule& schedule, const float* x, const float* dy,
                          const GradientSums& partial_sums, std::int64_t offset,
                          const FloatView& workspace);

  /// Bias gradient: sum of dy over samples and pixels, by the block tree. Overwrites.
  void (*bias_gradient)(const ExecSpace& exec, const ConvShape& shape,
                        const BlockSchedule& schedule, const float* dy,
                        const GradientSums& partial_sums, std::int64_t offset);

  /// Copies x [S, C, H, W] into the middle of padded [S, C, H + 2 p, W + 2 p]; the border is left
  /// alone (zero since allocation).
  void (*pad)(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
              const float* x, float* padded);

  /// The inverse: cuts the border off. Overwrites x.
  void (*crop)(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
               const float* padded, float* x);
};

namespace host {
const Conv2dKernels& conv2d_kernels();
/// The same, by Winograd's algorithm where that is faster (host/conv2d_winograd.hpp).
const Conv2dKernels& conv2d_winograd_kernels();
/// On tiles (linalg/host/bf16_tiles.hpp). As the others they add the border of zeros by themselves;
/// sums, biases and everything that is in memory outside of a work item are floats. Reference:
/// layers/reference/conv2d.hpp on rounded operands.
const Conv2dKernels& conv2d_bf16_kernels();
/// The same, added by pairs.
const Conv2dKernels& conv2d_bf16_pairs_kernels();
}  // namespace host
namespace device {
const Conv2dKernels& conv2d_kernels();
const Conv2dKernels& conv2d_tf32_kernels();
const Conv2dKernels& conv2d_bf16_kernels();
}  // namespace device

const Conv2dKernels& conv2d_kernels(const KernelChoice& choice = {});

}  // namespace quern

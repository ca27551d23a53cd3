// SPDX-License-Identifier: Apache-2.0
// Convolution, ReLU and pool as one: what the pool reads and what its gradient becomes stays in the
// cache. Only for layers whose dx is not needed. Reference: those of the three, one after another,
// whose bits these kernels give.
#pragma once

#include <cstdint>

#include "layers/conv_shape.hpp"
#include "layers/pool_window.hpp"
#include "linalg/block_schedule.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

struct Conv2dPoolKernels {
  /// As Conv2dKernels::adds_borders, of x.
  bool adds_borders;

  /// Floats that each thread needs of scratch() (layers/host/scratch.hpp), at most.
  std::int64_t (*scratch_floats)(int threads, const ConvShape& shape, const Pool& pool,
                                 const BatchLimit& most);

  /// Are there kernels for this?
  bool (*supports)(const ConvShape& shape, const Pool& pool);

  /// y = pool(max(W * x + b, 0)). x [S, C, H, W], weights as packed for
  /// Conv2dKernels::forward, bias [O], y [S, O, H_out / size, W_out / size]. Overwrites y and
  /// `passes` [S / 16, O, H_out, W_out]: bit l tells whether an output's gradient reaches the pixel
  /// of sample l. 2 S O H_out W_out C K K flop.
  void (*forward)(const ExecSpace& exec, const ConvShape& shape, const Pool& pool, int batch_rows,
                  const float* x, const float* weights, const float* bias, std::uint16_t* passes,
                  float* y);

  /// Weight and bias gradient of this rank's blocks by the block tree, from `passes` of the last
  /// forward and dy [S, O, H_out / size, W_out / size]: partial sum p at
  /// partial_sums.data[p * stride + offset], PyTorch's order. Overwrites.
  void (*gradients)(const ExecSpace& exec, const ConvShape& shape, const Pool& pool,
                    const BlockSchedule& schedule, const float* x, const std::uint16_t* passes,
                    const float* dy, const GradientSums& partial_sums, std::int64_t weight_offset,
                    std::int64_t bias_offset);
};

namespace host {
const Conv2dPoolKernels& conv2d_pool_kernels();
/// For weights that conv2d_bf16_kernels() have packed.
const Conv2dPoolKernels& conv2d_bf16_pool_kernels();
const Conv2dPoolKernels& conv2d_bf16_pairs_pool_kernels();
}  // namespace host

/// Null on devices, where nothing is fused.
const Conv2dPoolKernels* conv2d_pool_kernels(const KernelChoice& choice = {});

}  // namespace quern

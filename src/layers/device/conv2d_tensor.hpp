// SPDX-License-Identifier: Apache-2.0
// Convolutions whose operands are rounded, for the tensor cores of a device. Everything else of
// them is as in fp32, and so is the order of the blocks: the same bits for any number of ranks.
#pragma once

#include "layers/conv2d_kernels.hpp"
#include "linalg/device/rounded_operand.hpp"

namespace quern::device {

template <class Operand>
struct TensorConv2d {
  static std::int64_t forward_floats(const ConvShape& shape);
  static void pack_forward(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                           float* packed);
  static std::int64_t gradient_floats(const ConvShape& shape);
  static void pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                            float* packed);
  static void forward(const ExecSpace& exec, const ConvShape& shape, int batch_rows, const float* x,
                      const float* weights, const float* bias, bool with_relu, float* y);
  static void input_gradient(const ExecSpace& exec, const ConvShape& shape, int batch_rows,
                             const float* dy, const float* weights, const float* x_mask, float* dx);
  static std::int64_t workspace_floats(const ConvShape& shape, int max_rows);
  static void weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                              const BlockSchedule& schedule, const float* x, const float* dy,
                              const GradientSums& partial_sums, std::int64_t offset,
                              const FloatView& workspace);
};

extern template struct TensorConv2d<Tf32Operand>;
extern template struct TensorConv2d<Bf16Operand>;

}  // namespace quern::device

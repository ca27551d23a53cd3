// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d_kernels.hpp"

#include "layers/device/conv2d.hpp"
#include "layers/host/conv2d.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

std::int64_t packed_forward_floats(const ConvShape& shape) {
  if constexpr (kHostExecution) {
    if (!runs_device_kernels()) return host::packed_forward_floats(shape);
  }
  return device::packed_forward_floats(shape);
}

void pack_forward_weights(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                          float* packed) {
  if (runs_device_kernels())
    device::pack_forward_weights(exec, shape, weight, packed);
  else if constexpr (kHostExecution)
    host::pack_forward_weights(exec, shape, weight, packed);
}

std::int64_t packed_gradient_floats(const ConvShape& shape) {
  if constexpr (kHostExecution) {
    if (!runs_device_kernels()) return host::packed_gradient_floats(shape);
  }
  return device::packed_gradient_floats(shape);
}

void pack_gradient_weights(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                           float* packed) {
  if (runs_device_kernels())
    device::pack_gradient_weights(exec, shape, weight, packed);
  else if constexpr (kHostExecution)
    host::pack_gradient_weights(exec, shape, weight, packed);
}

void conv2d_forward(const ExecSpace& exec, const ConvShape& shape, int slots, const float* x,
                    const float* weights, const float* bias, bool with_relu, float* y) {
  if (runs_device_kernels())
    device::conv2d_forward(exec, shape, slots, x, weights, bias, with_relu, y);
  else if constexpr (kHostExecution)
    host::conv2d_forward(exec, shape, slots, x, weights, bias, with_relu, y);
}

void conv2d_input_gradient(const ExecSpace& exec, const ConvShape& shape, int slots,
                           const float* dy, const float* weights, const float* x_gate, float* dx) {
  if (runs_device_kernels())
    device::conv2d_input_gradient(exec, shape, slots, dy, weights, x_gate, dx);
  else if constexpr (kHostExecution)
    host::conv2d_input_gradient(exec, shape, slots, dy, weights, x_gate, dx);
}

void conv2d_weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                            const BlockSchedule& schedule, const float* x, const float* dy,
                            const GradientPartials& partials, std::int64_t offset) {
  if (runs_device_kernels())
    device::conv2d_weight_gradient(exec, shape, schedule, x, dy, partials, offset);
  else if constexpr (kHostExecution)
    host::conv2d_weight_gradient(exec, shape, schedule, x, dy, partials, offset);
}

void conv2d_bias_gradient(const ExecSpace& exec, const ConvShape& shape,
                          const BlockSchedule& schedule, const float* dy,
                          const GradientPartials& partials, std::int64_t offset) {
  if (runs_device_kernels())
    device::conv2d_bias_gradient(exec, shape, schedule, dy, partials, offset);
  else if constexpr (kHostExecution)
    host::conv2d_bias_gradient(exec, shape, schedule, dy, partials, offset);
}

void pad_image(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
               const float* x, float* padded) {
  if (runs_device_kernels())
    device::pad_image(exec, planes, height, width, padding, x, padded);
  else if constexpr (kHostExecution)
    host::pad_image(exec, planes, height, width, padding, x, padded);
}

void crop_image(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
                const float* padded, float* x) {
  if (runs_device_kernels())
    device::crop_image(exec, planes, height, width, padding, padded, x);
  else if constexpr (kHostExecution)
    host::crop_image(exec, planes, height, width, padding, padded, x);
}

}  // namespace quern

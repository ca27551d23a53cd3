// SPDX-License-Identifier: Apache-2.0
#include "layers/max_pool2d.hpp"

#include "base/assert.hpp"

namespace quern {

MaxPool2d::MaxPool2d(const LayerSpec& spec, const Shape& input)
    : Layer(spec.name, input, pooled_shape(spec, input)),
      kernels_(choose_kernels<const PoolKernels&()>(
          {.host = host_set<host::max_pool2d_kernels>(), .device = device::max_pool2d_kernels})()),
      window_(make_pool_window(spec, input)) {}

void MaxPool2d::forward(const ExecSpace& exec, const StepContext&,
                        const LayerArrays& arrays) const {
  const Activation& x = arrays.x;
  const Activation& y = arrays.y;
  expect(x.layout == Layout::nchw16n && y.layout == Layout::nchw16n, "activations in nchw16n");
  kernels_.forward(exec, window_, x, y);
}

void MaxPool2d::backward(const ExecSpace& exec, const StepContext&,
                         const LayerArrays& arrays) const {
  const Activation& dy = arrays.dy;
  const Activation& dx = arrays.dx;
  if (dx.empty()) return;
  expect(dx.layout == Layout::nchw16n && dy.layout == Layout::nchw16n, "gradients in nchw16n");
  kernels_.backward(exec, window_, arrays.x, dy, dx, with_input_relu_);
}

}  // namespace quern

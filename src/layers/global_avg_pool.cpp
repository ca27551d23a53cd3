// SPDX-License-Identifier: Apache-2.0
#include "layers/global_avg_pool.hpp"

#include "base/assert.hpp"

namespace quern {

GlobalAvgPool::GlobalAvgPool(const LayerSpec& spec, const Shape& input)
    : Layer(spec.name, input, Shape{input.channels}),
      kernels_(choose_kernels<const GlobalPoolKernels&()>(
          {.host = host_set<host::global_avg_pool_kernels>(),
           .device = device::global_avg_pool_kernels})()) {}

void GlobalAvgPool::forward(const ExecSpace& exec, const StepContext&,
                            const LayerArrays& arrays) const {
  const Activation& x = arrays.x;
  const Activation& y = arrays.y;
  expect(x.layout == Layout::nchw16n && y.layout == Layout::nchw16n, "activations in nchw16n");
  kernels_.forward(exec, x, y);
}

void GlobalAvgPool::backward(const ExecSpace& exec, const StepContext&,
                             const LayerArrays& arrays) const {
  const Activation& dy = arrays.dy;
  const Activation& dx = arrays.dx;
  if (dx.empty()) return;
  expect(dx.layout == Layout::nchw16n && dy.layout == Layout::nchw16n, "gradients in nchw16n");
  kernels_.backward(exec, arrays.x, dy, dx, with_input_relu_);
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "layers/pool2d.hpp"

#include "base/assert.hpp"

namespace quern {

namespace {

const PoolKernels& pool_kernels(PoolKind kind) {
  if (kind == PoolKind::maximum)
    return choose_kernels<const PoolKernels&()>(
        {.host = host_set<host::max_pool2d_kernels>(), .device = device::max_pool2d_kernels})();
  return choose_kernels<const PoolKernels&()>(
      {.host = host_set<host::avg_pool2d_kernels>(), .device = device::avg_pool2d_kernels})();
}

}  // namespace

Pool2d::Pool2d(const LayerSpec& spec, const Shape& input)
    : Layer(spec.name, input, pooled_shape(spec, input)),
      pool_{make_pool_window(spec, input),
            spec.type == LayerType::max_pool2d ? PoolKind::maximum : PoolKind::mean},
      kernels_(pool_kernels(pool_.kind)) {}

void Pool2d::forward(const ExecSpace& exec, const StepContext&, const LayerArrays& arrays) const {
  const Activation& x = arrays.x;
  const Activation& y = arrays.y;
  expect(x.layout == Layout::nchw16n && y.layout == Layout::nchw16n, "activations in nchw16n");
  kernels_.forward(exec, pool_.window, x, y);
}

void Pool2d::backward(const ExecSpace& exec, const StepContext&, const LayerArrays& arrays) const {
  const Activation& dy = arrays.dy;
  const Activation& dx = arrays.dx;
  if (dx.empty()) return;
  expect(dx.layout == Layout::nchw16n && dy.layout == Layout::nchw16n, "gradients in nchw16n");
  kernels_.backward(exec, pool_.window, arrays.x, dy, dx, with_input_relu_);
}

}  // namespace quern

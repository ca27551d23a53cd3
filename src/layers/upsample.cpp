// SPDX-License-Identifier: Apache-2.0
#include "layers/upsample.hpp"

#include "base/assert.hpp"
#include "base/ceil_div.hpp"

namespace quern {

Upsample::Upsample(const LayerSpec& spec, const Shape& input)
    : Layer(spec.name, input,
            {input.channels, input.height * spec.factor, input.width * spec.factor}),
      factor_(spec.factor),
      kernels_(choose_kernels<const UpsampleKernels&()>(
          {.host = host_set<host::upsample_kernels>(), .device = device::upsample_kernels})()) {}

Shape Upsample::needed_input(const Shape& read) const {
  return {read.channels, ceil_div(read.height, factor_), ceil_div(read.width, factor_)};
}

void Upsample::forward(const ExecSpace& exec, const StepContext&, const LayerArrays& arrays) const {
  const Activation& x = arrays.x;
  const Activation& y = arrays.y;
  expect(x.layout == Layout::nchw16n && y.layout == Layout::nchw16n, "activations in nchw16n");
  kernels_.forward(exec, factor_, x, y);
}

void Upsample::backward(const ExecSpace& exec, const StepContext&,
                        const LayerArrays& arrays) const {
  const Activation& dy = arrays.dy;
  const Activation& dx = arrays.dx;
  if (dx.empty()) return;
  expect(dx.layout == Layout::nchw16n && dy.layout == Layout::nchw16n, "gradients in nchw16n");
  kernels_.backward(exec, factor_, arrays.x, dy, dx, with_input_relu_);
}

}  // namespace quern

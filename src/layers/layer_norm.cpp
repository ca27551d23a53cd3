// SPDX-License-Identifier: Apache-2.0
#include "layers/layer_norm.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "linalg/block_sum.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

const LayerNormKernels& layer_norm_kernels() {
  return choose_kernels<const LayerNormKernels&()>(
      {.host = host_set<host::layer_norm_kernels>(), .device = device::layer_norm_kernels})();
}

SampleLines::SampleLines(const Activation& x)
    : are_groups(x.layout == Layout::nchw16n),
      units(x.shape.units()),
      rows(x.rows),
      lines(are_groups ? rows / kLanes : rows),
      sixteens(are_groups ? units : static_cast<int>(round_up_to_lanes(units) / kLanes)) {
  const std::int64_t stride = ActivationIndex(x).stride;
  if (are_groups) {
    line_stride = std::int64_t{units} * kLanes;
    sixteen_stride = kLanes;
  } else {
    line_stride = x.layout == Layout::cn16c ? std::int64_t{kLanes} : stride;
    sixteen_stride = x.layout == Layout::cn16c ? stride : std::int64_t{kLanes};
  }
}

LayerNorm::LayerNorm(const LayerSpec& spec, const Shape& input)
    : Layer(spec.name, input, input),
      kernels_(layer_norm_kernels()),
      padded_(round_up_to_lanes(input.units())),
      eps_(static_cast<float>(spec.eps)),
      training_(training_of(spec)) {}

Layout LayerNorm::input_layout(Layout incoming) const {
  const bool in_lanes = !input_shape().is_flat() || incoming == Layout::nchw16n;
  return in_lanes ? Layout::nchw16n : flat_layout();
}

LayerTraits LayerNorm::traits() const {
  LayerTraits traits;
  traits.overwrites_gradient = true;
  traits.applies_relu = true;
  return traits;
}

void LayerNorm::add_parameters(ParameterTable& table) {
  const Shape& of = input_shape();
  std::vector<std::int64_t> shape = {of.channels};
  if (!of.is_flat()) shape = {of.channels, of.height, of.width};
  weight_ = table.add(name() + ".weight", shape, 1, ParameterKind::scale, training_);
  const std::int64_t shift = table.add(name() + ".bias", shape, 1, ParameterKind::shift, training_);
  expect(shift == weight_ + padded_, "neighbours in the block");
  if (training_ == Training::frozen) frozen_ = table.reduced_size();
}

void LayerNorm::set_up(const LayerSetup& setup) {
  with_relu_ = setup.with_relu;
  if (training_ == Training::frozen && setup.first_frozen >= 0) frozen_ = setup.first_frozen;
}

// Mean and inverse deviation of each sample.
std::int64_t LayerNorm::own_floats(const BatchLimit& most) const {
  return std::int64_t{2} * most.rows;
}

// A row for each micro-block; afterwards sums of segments, on a device.
std::int64_t LayerNorm::workspace_floats(const BatchLimit& most) const {
  return std::max(2 * padded_ * most.blocks(),
                  kernels_.workspace_floats(input_shape().units(), most.rows));
}

SampleNorm LayerNorm::norm_of(const StepContext& step, const LayerArrays& arrays) const {
  const Activation& x = arrays.x;
  expect(static_cast<std::int64_t>(arrays.own.extent(0)) >= own_floats(x.rows), "own_floats()");
  const float* scale = step.parameters.data() + frozen_ + weight_;
  return {SampleLines(x),
          std::max(1, step.schedule.block_rows),
          arrays.own.data(),
          arrays.own.data() + x.rows,
          scale,
          scale + padded_,
          eps_,
          with_relu_};
}

void LayerNorm::forward(const ExecSpace& exec, const StepContext& step,
                        const LayerArrays& arrays) const {
  const SampleNorm norm = norm_of(step, arrays);
  kernels_.normalize(exec, norm, arrays.x.data.data(), arrays.y.data.data(),
                     arrays.workspace.data());
}

void LayerNorm::parameter_gradients(const ExecSpace& exec, const StepContext& step,
                                    const LayerArrays& arrays, const SampleNorm& norm) const {
  const float* x = arrays.x.data.data();
  const float* dy = arrays.dy.data.data();
  float* blocks = arrays.workspace.data();
  expect(static_cast<std::int64_t>(arrays.workspace.extent(0)) >= 2 * padded_ * norm.num_blocks(),
         "workspace_floats()");
  kernels_.parameter_gradients(exec, norm, x, dy, blocks);
  add_block_rows(exec, "quern::layers::layer_norm_sums", step.schedule, blocks, 2 * padded_,
                 step.gradients, weight_);
}

void LayerNorm::backward(const ExecSpace& exec, const StepContext& step,
                         const LayerArrays& arrays) const {
  const SampleNorm norm = norm_of(step, arrays);
  const float* x = arrays.x.data.data();
  const float* dy = arrays.dy.data.data();
  if (training_ == Training::trained) parameter_gradients(exec, step, arrays, norm);
  if (arrays.dx.empty()) return;
  kernels_.input_gradient(exec, norm, x, dy, arrays.dx.data.data(), arrays.workspace.data());
}

}  // namespace quern

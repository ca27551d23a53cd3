// SPDX-License-Identifier: Apache-2.0
#include "layers/group_norm.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "linalg/block_sum.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

const GroupNormKernels& group_norm_kernels() {
  return choose_kernels<const GroupNormKernels&()>(
      {.host = host_set<host::group_norm_kernels>(), .device = device::group_norm_kernels})();
}

GroupNorm::GroupNorm(const LayerSpec& spec, const Shape& input)
    : Layer(spec.name, input, input),
      kernels_(group_norm_kernels()),
      sets_(spec.groups),
      padded_(round_up_to_lanes(input.channels)),
      eps_(static_cast<float>(spec.eps)),
      training_(training_of(spec)) {
  expect(sets_ > 0 && input.channels % sets_ == 0, "groups that divide the channels");
}

Layout GroupNorm::input_layout(Layout /*incoming*/) const {
  return Layout::nchw16n;
}

LayerTraits GroupNorm::traits() const {
  LayerTraits traits;
  traits.overwrites_gradient = true;
  traits.applies_relu = true;
  return traits;
}

void GroupNorm::add_parameters(ParameterTable& table) {
  const std::vector<std::int64_t> shape = {input_shape().channels};
  weight_ = table.add(name() + ".weight", shape, 1, ParameterKind::scale, training_);
  const std::int64_t shift = table.add(name() + ".bias", shape, 1, ParameterKind::shift, training_);
  expect(shift == weight_ + padded_, "neighbours in the block");
  if (training_ == Training::frozen) frozen_ = table.reduced_size();
}

void GroupNorm::set_up(const LayerSetup& setup) {
  with_relu_ = setup.with_relu;
  if (training_ == Training::frozen && setup.first_frozen >= 0) frozen_ = setup.first_frozen;
}

// Mean and inverse deviation of each set of each sample.
std::int64_t GroupNorm::own_floats(const BatchLimit& most) const {
  return std::int64_t{2} * most.rows * sets_;
}

// Sums over pixels, then a row for each micro-block.
std::int64_t GroupNorm::workspace_floats(const BatchLimit& most) const {
  return std::int64_t{2} * most.rows * input_shape().channels + 2 * padded_ * most.blocks();
}

ChannelNorm GroupNorm::norm_of(const StepContext& step, const LayerArrays& arrays) const {
  const Activation& x = arrays.x;
  const Shape& shape = input_shape();
  expect(static_cast<std::int64_t>(arrays.own.extent(0)) >= std::int64_t{2} * x.rows * sets_,
         "own_floats()");
  expect(static_cast<std::int64_t>(arrays.workspace.extent(0)) >=
             std::int64_t{2} * x.rows * shape.channels,
         "workspace_floats()");
  const float* scale = step.parameters.data() + frozen_ + weight_;
  return {x.rows,
          shape.channels,
          shape.height * shape.width,
          sets_,
          std::max(1, step.schedule.block_rows),
          arrays.own.data(),
          arrays.own.data() + std::int64_t{x.rows} * sets_,
          arrays.workspace.data(),
          scale,
          scale + padded_,
          eps_,
          with_relu_};
}

void GroupNorm::forward(const ExecSpace& exec, const StepContext& step,
                        const LayerArrays& arrays) const {
  kernels_.normalize(exec, norm_of(step, arrays), arrays.x.data.data(), arrays.y.data.data());
}

void GroupNorm::backward(const ExecSpace& exec, const StepContext& step,
                         const LayerArrays& arrays) const {
  const ChannelNorm norm = norm_of(step, arrays);
  const bool trains = training_ == Training::trained;
  if (!trains && arrays.dx.empty()) return;
  kernels_.backward(exec, norm, arrays.x.data.data(), arrays.dy.data.data(),
                    arrays.dx.empty() ? nullptr : arrays.dx.data.data());
  if (!trains) return;
  float* blocks = norm.sums + 2 * norm.second_sum();
  expect(static_cast<std::int64_t>(arrays.workspace.extent(0)) >=
             2 * norm.second_sum() + 2 * padded_ * norm.num_blocks(),
         "workspace_floats()");
  kernels_.parameter_gradients(exec, norm, blocks);
  add_block_rows(exec, "quern::layers::group_norm_sums", step.schedule, blocks, 2 * padded_,
                 step.gradients, weight_);
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "layers/conv2d_kernels.hpp"
#include "layers/conv2d_pool_kernels.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

Shape output_of(const LayerSpec& spec, const Shape& input) {
  const int border = 2 * spec.padding - spec.kernel;
  return {spec.channels, (input.height + border) / spec.stride + 1,
          (input.width + border) / spec.stride + 1};
}

// None where the schedule is not of these rows.
FewRows groups_of_few(const BlockSchedule& schedule, int rows, int most) {
  const bool any = most > 0 && schedule.rows() == rows;
  return {schedule, any ? schedule.first_group_of_few(most) : schedule.rows() / kLanes, most};
}

}  // namespace

Conv2d::Conv2d(const LayerSpec& spec, const Shape& input, const KernelChoice& choice)
    : Conv2d(spec, input, output_of(spec, input), choice) {}

Conv2d::Conv2d(const LayerSpec& spec, const Shape& input, const Shape& output,
               const KernelChoice& choice)
    : Layer(spec.name, input, output),
      kernels_(conv2d_kernels(choice)),
      pool_kernels_(conv2d_pool_kernels(choice)),
      shape_{input.channels,
             input.height + 2 * spec.padding,
             input.width + 2 * spec.padding,
             spec.channels,
             output_shape().height,
             output_shape().width,
             spec.kernel,
             spec.stride},
      padding_(spec.padding),
      has_bias_(spec.bias),
      training_(training_of(spec)) {}

void Conv2d::set_up(const LayerSetup& setup) {
  with_relu_ = setup.with_relu;
  with_input_relu_ = setup.with_input_relu;
  pool_ = setup.pool;
  if (training_ == Training::frozen && setup.first_frozen >= 0) frozen_ = setup.first_frozen;
  copies_ = padding_ > 0 && !(pool_ ? pool_kernels_->adds_borders : kernels_.adds_borders);
  shape_.padding = copies_ ? 0 : padding_;
  const std::int64_t values = std::max(shape_.in_group(), shape_.out_group()) / kLanes;
  if (kernels_.max_values == 0 || values < kernels_.max_values) return;
  throw InputError("network.layers: '" + name() + "' has " + std::to_string(values) +
                   " values per sample, padding included (expected fewer than " +
                   std::to_string(kernels_.max_values) +
                   " with train.precision \"tf32\" or \"bf16\")");
}

LayerTraits Conv2d::traits() const {
  return {.applies_relu = true,
          .applies_input_relu = padding_ == 0,
          .adds_to_gradient = kernels_.add_input_gradient != nullptr,
          .reads_rounded_input = kernels_.rounds,
          .reads_rounded_gradient = kernels_.rounds && !has_bias_,
          .writes_rounded_output = kernels_.rounds,
          .writes_rounded_gradient = kernels_.rounds};
}

ConvShape Conv2d::shape_of(const LayerArrays& arrays) const {
  const auto is_rounded = [](const Activation& a) { return a.layout == Layout::nchw16n_bf16; };
  ConvShape shape = shape_;
  shape.rounded_x = is_rounded(arrays.x);
  shape.rounded_y = is_rounded(arrays.y);
  shape.rounded_dy = is_rounded(arrays.dy);
  shape.rounded_dx = is_rounded(arrays.dx);
  const bool any = shape.rounded_x || shape.rounded_y || shape.rounded_dy || shape.rounded_dx;
  expect(!any || (kernels_.rounds && !pool_), "kernels for bfloat16");
  return shape;
}

bool Conv2d::can_compute(const Pool& pool) const {
  return has_bias_ && pool_kernels_ && pool_kernels_->supports(shape_, pool);
}

Shape Conv2d::needed_input(const Shape& read) const {
  const int beyond = shape_.kernel - padding_;
  const auto needed = [&](int outputs, int all) {
    return std::clamp((outputs - 1) * shape_.stride + beyond, 1, all);
  };
  return {input_shape().channels, needed(read.height, input_shape().height),
          needed(read.width, input_shape().width)};
}

void Conv2d::add_parameters(ParameterTable& table) {
  const int kernel = shape_.kernel;
  weight_ = table.add(name() + ".weight", {shape_.out_channels, shape_.in_channels, kernel, kernel},
                      shape_.taps(), ParameterKind::weight, training_);
  if (has_bias_) {
    bias_ = table.add(name() + ".bias", {shape_.out_channels}, shape_.taps(), ParameterKind::bias,
                      training_);
  }
  if (training_ == Training::frozen) frozen_ = table.reduced_size();
}

std::int64_t Conv2d::padded_floats(int rows) const {
  return copies_ ? rows / kLanes * shape_.in_group() : 0;
}

std::int64_t Conv2d::pass_floats(int rows) const {
  if (!pool_) return 0;
  const std::int64_t bytes =
      rows / kLanes * shape_.out_group() / kLanes * std::int64_t{sizeof(std::uint16_t)};
  return round_up_to_lanes(ceil_div(bytes, std::int64_t{sizeof(float)}));
}

// x inside a border of zeros, which stay where they are whatever the rows of a batch; then, up to
// the end, the bits.
std::int64_t Conv2d::own_floats(const BatchLimit& most) const {
  return padded_floats(most.rows) + pass_floats(most.rows);
}

const float* Conv2d::padded(const LayerArrays& arrays) const {
  return copies_ ? arrays.own.data() : arrays.x.data.data();
}

std::uint16_t* Conv2d::passes(const LayerArrays& arrays) const {
  const auto end = static_cast<std::int64_t>(arrays.own.extent(0));
  return reinterpret_cast<std::uint16_t*>(arrays.own.data() + end - pass_floats(arrays.x.rows));
}

// Packed weights; the weight gradient's own; packed weights and the padded dx.
std::int64_t Conv2d::workspace_floats(const BatchLimit& most) const {
  std::int64_t forward = kernels_.forward_floats(shape_);
  if (pool_) return forward;
  const Conv2dFewRowsKernels* few_rows = kernels_.few_rows;
  if (few_rows) forward = std::max(forward, few_rows->forward_floats(shape_));
  std::int64_t dx = round_up_to_lanes(kernels_.gradient_floats(shape_)) + padded_floats(most.rows);
  if (few_rows) dx = std::max(dx, few_rows->gradient_floats(shape_));
  return std::max({forward, kernels_.workspace_floats(shape_, most.rows), dx});
}

std::int64_t Conv2d::scratch_floats(const BatchLimit& most) const {
  const int threads = kernel_threads();
  if (pool_) return pool_kernels_->scratch_floats(threads, shape_, *pool_, most);
  return kernels_.scratch_floats ? kernels_.scratch_floats(threads, shape_, most) : 0;
}

void Conv2d::forward(const ExecSpace& exec, const StepContext& step,
                     const LayerArrays& arrays) const {
  const int rows = arrays.x.rows;
  const ConvShape shape = shape_of(arrays);
  if (copies_) {
    kernels_.pad(exec, std::int64_t{rows / kLanes} * shape.in_channels, input_shape().height,
                 input_shape().width, padding_, arrays.x.data.data(), arrays.own.data());
  }
  const float* weight = parameters(step) + weight_;
  const float* bias = has_bias_ ? parameters(step) + bias_ : nullptr;
  float* weights = arrays.workspace.data();
  float* y = arrays.y.data.data();
  const Conv2dFewRowsKernels* few_rows = pool_ ? nullptr : kernels_.few_rows;
  const FewRows few =
      groups_of_few(step.schedule, rows, few_rows ? few_rows->most_forward(shape) : 0);
  if (few.groups() > 0) {
    few_rows->pack_forward(exec, shape, weight, weights);
    few_rows->forward(exec, shape, few, padded(arrays), weights, bias, with_relu_, y);
  }
  const int full_rows = rows - few.rows();
  if (full_rows == 0) return;
  kernels_.pack_forward(exec, shape, weight, weights);
  if (pool_) {
    pool_kernels_->forward(exec, shape, *pool_, rows, padded(arrays), weights, bias, passes(arrays),
                           y);
    return;
  }
  kernels_.forward(exec, shape, full_rows, padded(arrays), weights, bias, with_relu_, y);
}

void Conv2d::backward(const ExecSpace& exec, const StepContext& step,
                      const LayerArrays& arrays) const {
  const ConvShape shape = shape_of(arrays);
  const float* dy = arrays.dy.data.data();
  if (pool_) {
    expect(arrays.dx.empty(), "a pool that is taken over only where nobody wants dx");
    pool_kernels_->gradients(exec, shape, *pool_, step.schedule, padded(arrays), passes(arrays), dy,
                             step.gradients, weight_, bias_);
    return;
  }
  if (training_ == Training::trained) {
    kernels_.weight_gradient(exec, shape, step.schedule, padded(arrays), dy, step.gradients,
                             weight_, arrays.workspace);
    expect(!(has_bias_ && shape.rounded_dy), "a bias gradient of floats");
    if (has_bias_) kernels_.bias_gradient(exec, shape, step.schedule, dy, step.gradients, bias_);
  }
  if (!arrays.dx.empty()) input_gradient(exec, step, arrays);
}

void Conv2d::input_gradient(const ExecSpace& exec, const StepContext& step,
                            const LayerArrays& arrays) const {
  const ConvShape shape = shape_of(arrays);
  const Activation& dx = arrays.dx;
  const float* weight = parameters(step) + weight_;
  const float* dy = arrays.dy.data.data();
  const bool masks = with_input_relu_ || arrays.with_relu_of_x;
  expect(!(masks && shape.rounded_x), "a mask of floats");
  const float* mask = masks ? arrays.x.data.data() : nullptr;
  float* weights = arrays.workspace.data();
  if (arrays.adds_to_dx) {
    expect(kernels_.add_input_gradient && !kernels_.few_rows && !copies_ && !shape.rounded_dx,
           "kernels that add, and floats");
    kernels_.pack_gradient(exec, shape, weight, weights);
    kernels_.add_input_gradient(exec, shape, dx.rows, dy, weights, mask, dx.data.data());
    return;
  }
  const Conv2dFewRowsKernels* few_rows = kernels_.few_rows;
  const FewRows few =
      groups_of_few(step.schedule, dx.rows, few_rows ? few_rows->most_gradient(shape) : 0);
  if (few.groups() > 0) {
    few_rows->pack_gradient(exec, shape, weight, weights);
    few_rows->input_gradient(exec, shape, few, dy, weights, mask, dx.data.data());
  }
  const int full_rows = dx.rows - few.rows();
  if (full_rows == 0) return;
  float* padded_dx =
      copies_ ? weights + round_up_to_lanes(kernels_.gradient_floats(shape)) : dx.data.data();
  kernels_.pack_gradient(exec, shape, weight, weights);
  kernels_.input_gradient(exec, shape, full_rows, dy, weights, mask, padded_dx);
  if (copies_) {
    kernels_.crop(exec, std::int64_t{dx.rows / kLanes} * shape.in_channels, input_shape().height,
                  input_shape().width, padding_, padded_dx, dx.data.data());
  }
}

}  // namespace quern

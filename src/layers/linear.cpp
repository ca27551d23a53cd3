// SPDX-License-Identifier: Apache-2.0
#include "layers/linear.hpp"

#include "linalg/block_sum.hpp"
#include "linalg/device/gemm.hpp"
#include "linalg/gemm.hpp"
#include "linalg/transpose.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

// [rows, units] in nc or cn16c.
Matrix matrix_of(const Activation& a) {
  const bool panels = a.layout == Layout::cn16c;
  return {a.data.data(), a.rows, a.shape.units(),
          panels ? std::int64_t{kLanes} : std::int64_t{a.row_stride()},
          panels ? a.panel_stride() : std::int64_t{kLanes}};
}

ConstMatrix values_of(const Activation& a) {
  const Matrix m = matrix_of(a);
  return {m.data, m.rows, m.columns, m.stride, m.panel};
}

}  // namespace

Linear::Linear(const LayerSpec& spec, const Shape& input)
    : Layer(spec.name, input, Shape{spec.features}),
      in_features_(input.units()),
      out_features_(spec.features) {}

void Linear::add_parameters(ParameterTable& table) {
  const std::int64_t panel = runs_device_kernels() ? row_floats(out_features_) : kLanes;
  weight_ = {table.add_transposed(name() + ".weight", out_features_, in_features_, panel), panel,
             runs_device_kernels() ? std::int64_t{kLanes} : panel * in_features_};
  bias_ = table.add(name() + ".bias", {out_features_}, in_features_, ParameterKind::bias);
}

void Linear::set_up(const LayerSetup& setup) {
  with_relu_ = setup.with_relu;
  with_input_relu_ = setup.with_input_relu;
  products_ = setup.products;
}

// W [O, I] in panels for the input gradient. Padding columns stay zero.
std::int64_t Linear::own_floats(int) const {
  return runs_device_kernels() ? 0 : out_features_ * round_up_to_lanes(in_features_);
}

ConstMatrix Linear::weight_t(const StepContext& step) const {
  return {step.parameters.data() + weight_.offset, in_features_, out_features_, weight_.stride,
          weight_.panel};
}

void Linear::forward(const ExecSpace& exec, const StepContext& step,
                     const LayerArrays& arrays) const {
  Epilogue epilogue;
  epilogue.bias = step.parameters.data() + bias_;
  epilogue.relu = with_relu_;
  const Matrix result = matrix_of(arrays.y);
  const ConstMatrix x = values_of(arrays.x);
  if (products_)
    products_->multiply(exec, "quern::layers::linear_forward", result, x, weight_t(step), epilogue);
  else
    multiply(exec, "quern::layers::linear_forward", result, x, weight_t(step), epilogue);
}

void Linear::parameter_gradients(const ExecSpace& exec, const StepContext& step,
                                 const LayerArrays& arrays) const {
  const ConstMatrix x = values_of(arrays.x);
  const ConstMatrix dy = values_of(arrays.dy);
  if (!products_ && runs_device_kernels()) {
    device::multiply_and_sum_blocks(exec, "quern::layers::linear_weight_gradient", step.schedule,
                                    step.gradients, weight_, x, dy, bias_);
    return;
  }
  if (products_) {
    products_->multiply_blocks(exec, "quern::layers::linear_weight_gradient", step.schedule,
                               step.gradients, weight_, x, dy, arrays.workspace);
  } else {
    multiply_blocks(exec, "quern::layers::linear_weight_gradient", step.schedule, step.gradients,
                    weight_, x, dy);
  }
  block_tree_sum(exec, "quern::layers::linear_bias_gradient", step.schedule, arrays.dy,
                 step.gradients, bias_);
}

void Linear::backward(const ExecSpace& exec, const StepContext& step,
                      const LayerArrays& arrays) const {
  parameter_gradients(exec, step, arrays);
  if (!arrays.dx.empty()) input_gradient(exec, step, arrays);
}

void Linear::input_gradient(const ExecSpace& exec, const StepContext& step,
                            const LayerArrays& arrays) const {
  Epilogue epilogue;
  if (with_input_relu_) epilogue.relu_mask = arrays.x.data.data();
  const Matrix result = matrix_of(arrays.dx);
  const ConstMatrix dy = values_of(arrays.dy);
  if (products_) {
    products_->multiply_transposed(exec, "quern::layers::linear_input_gradient", result, dy,
                                   weight_t(step), epilogue);
  } else if (runs_device_kernels()) {
    device::multiply_transposed(exec, "quern::layers::linear_input_gradient", result, dy,
                                weight_t(step), epilogue);
  } else if constexpr (kHostExecution) {
    // A CPU reads whole vectors of W's rows.
    const Matrix rows = in_panels(arrays.own.data(), out_features_, in_features_);
    transpose(exec, "quern::layers::linear_transpose", rows, weight_t(step));
    multiply(exec, "quern::layers::linear_input_gradient", result, dy,
             {rows.data, rows.rows, rows.columns, rows.stride, rows.panel}, epilogue);
  }
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "layers/linear.hpp"

#include "linalg/block_sum.hpp"
#include "linalg/device/gemm.hpp"
#include "linalg/gemm.hpp"
#include "linalg/transpose.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

ConstMatrix rows_of(const Activation& a) {
  return {a.data.data(), a.slots, a.shape.units(), a.row_stride()};
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
  bias_ = table.add(name() + ".bias", {out_features_}, in_features_, true);
}

void Linear::allocate(int) {
  if (runs_device_kernels()) return;
  weight_rows_ =
      FloatView("quern::layers::linear_weight_rows",
                static_cast<std::size_t>(out_features_ * round_up_to_lanes(in_features_)));
}

ConstMatrix Linear::weight_t(const StepContext& step) const {
  return {step.parameters.data() + weight_.offset, in_features_, out_features_, weight_.stride,
          weight_.panel};
}

void Linear::forward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                     const Activation& y) {
  Epilogue epilogue;
  epilogue.bias = step.parameters.data() + bias_;
  epilogue.relu = fused_relu_;
  const Matrix result{y.data.data(), y.slots, out_features_, y.row_stride()};
  if (products_)
    products_->multiply(exec, "quern::layers::linear_forward", result, rows_of(x), weight_t(step),
                        epilogue);
  else
    multiply(exec, "quern::layers::linear_forward", result, rows_of(x), weight_t(step), epilogue);
}

void Linear::parameter_gradients(const ExecSpace& exec, const StepContext& step,
                                 const Activation& x, const Activation& dy) {
  if (!products_ && runs_device_kernels()) {
    device::multiply_and_sum_blocks(exec, "quern::layers::linear_weight_gradient", step.schedule,
                                    step.gradients, weight_, rows_of(x), rows_of(dy), bias_);
    return;
  }
  if (products_ && step.schedule.num_partials == 1) {
    // One sum over all blocks at once, which are in no order then.
    products_->multiply_inner(exec, "quern::layers::linear_weight_gradient",
                              {step.gradients.data.data() + weight_.offset, in_features_,
                               out_features_, weight_.stride, weight_.panel},
                              rows_of(x), rows_of(dy));
  } else {
    multiply_blocks(exec, "quern::layers::linear_weight_gradient", step.schedule, step.gradients,
                    weight_, rows_of(x), rows_of(dy));
  }
  block_tree_sum(exec, "quern::layers::linear_bias_gradient", step.schedule, dy.data,
                 dy.row_stride(), out_features_, step.gradients, bias_);
}

void Linear::backward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                      const Activation&, const Activation& dy, const Activation& dx) {
  parameter_gradients(exec, step, x, dy);
  if (!dx.empty()) input_gradient(exec, step, x, dy, dx);
}

void Linear::input_gradient(const ExecSpace& exec, const StepContext& step, const Activation& x,
                            const Activation& dy, const Activation& dx) {
  Epilogue epilogue;
  if (fused_input_relu_) epilogue.relu_gate = x.data.data();
  const Matrix result{dx.data.data(), dx.slots, in_features_, dx.row_stride()};
  if (products_) {
    products_->multiply_transposed(exec, "quern::layers::linear_input_gradient", result,
                                   rows_of(dy), weight_t(step), epilogue);
  } else if (runs_device_kernels()) {
    device::multiply_transposed(exec, "quern::layers::linear_input_gradient", result, rows_of(dy),
                                weight_t(step), epilogue);
  } else if constexpr (kHostExecution) {
    // A CPU reads whole vectors of W's rows.
    const Matrix rows = in_panels(weight_rows_.data(), out_features_, in_features_);
    transpose(exec, "quern::layers::linear_transpose", rows, weight_t(step));
    multiply(exec, "quern::layers::linear_input_gradient", result, rows_of(dy),
             {rows.data, rows.rows, rows.columns, rows.stride, rows.panel}, epilogue);
  }
}

}  // namespace quern

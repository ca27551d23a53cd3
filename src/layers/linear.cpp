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

std::int64_t Linear::own_bytes(int) const {
  if (runs_device_kernels()) return 0;
  return out_features_ * round_up_to_lanes(in_features_) * std::int64_t{sizeof(float)};
}

void Linear::allocate(int max_rows) {
  if (runs_device_kernels()) return;
  weight_rows_ = FloatView("quern::layers::linear_weight_rows",
                           static_cast<std::size_t>(own_bytes(max_rows)) / sizeof(float));
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
  const Matrix result = matrix_of(y);
  if (products_)
    products_->multiply(exec, "quern::layers::linear_forward", result, values_of(x), weight_t(step),
                        epilogue);
  else
    multiply(exec, "quern::layers::linear_forward", result, values_of(x), weight_t(step), epilogue);
}

void Linear::parameter_gradients(const ExecSpace& exec, const StepContext& step,
                                 const Activation& x, const Activation& dy) {
  if (!products_ && runs_device_kernels()) {
    device::multiply_and_sum_blocks(exec, "quern::layers::linear_weight_gradient", step.schedule,
                                    step.gradients, weight_, values_of(x), values_of(dy), bias_);
    return;
  }
  if (products_) {
    products_->multiply_blocks(exec, "quern::layers::linear_weight_gradient", step.schedule,
                               step.gradients, weight_, values_of(x), values_of(dy), workspace_);
  } else {
    multiply_blocks(exec, "quern::layers::linear_weight_gradient", step.schedule, step.gradients,
                    weight_, values_of(x), values_of(dy));
  }
  block_tree_sum(exec, "quern::layers::linear_bias_gradient", step.schedule, dy, step.gradients,
                 bias_);
}

void Linear::backward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                      const Activation&, const Activation& dy, const Activation& dx) {
  parameter_gradients(exec, step, x, dy);
  if (!dx.empty()) input_gradient(exec, step, x, dy, dx);
}

void Linear::input_gradient(const ExecSpace& exec, const StepContext& step, const Activation& x,
                            const Activation& dy, const Activation& dx) {
  Epilogue epilogue;
  if (fused_input_relu_) epilogue.relu_mask = x.data.data();
  const Matrix result = matrix_of(dx);
  if (products_) {
    products_->multiply_transposed(exec, "quern::layers::linear_input_gradient", result,
                                   values_of(dy), weight_t(step), epilogue);
  } else if (runs_device_kernels()) {
    device::multiply_transposed(exec, "quern::layers::linear_input_gradient", result, values_of(dy),
                                weight_t(step), epilogue);
  } else if constexpr (kHostExecution) {
    // A CPU reads whole vectors of W's rows.
    const Matrix rows = in_panels(weight_rows_.data(), out_features_, in_features_);
    transpose(exec, "quern::layers::linear_transpose", rows, weight_t(step));
    multiply(exec, "quern::layers::linear_input_gradient", result, values_of(dy),
             {rows.data, rows.rows, rows.columns, rows.stride, rows.panel}, epilogue);
  }
}

}  // namespace quern

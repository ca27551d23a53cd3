// SPDX-License-Identifier: Apache-2.0
#include "layers/linear.hpp"

#include "linalg/block_sum.hpp"
#include "linalg/gemm.hpp"
#include "linalg/transpose.hpp"

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
  weight_ = table.add(name() + ".weight", {out_features_, in_features_}, in_features_, false);
  bias_ = table.add(name() + ".bias", {out_features_}, in_features_, true);
}

void Linear::allocate(int) {
  weight_t_ = FloatView("quern::layers::linear_weight_t",
                        static_cast<std::size_t>(in_features_ * round_up_to_lanes(out_features_)));
}

void Linear::forward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                     const Activation& y) {
  const std::int64_t row = round_up_to_lanes(out_features_);
  const ConstMatrix weight{step.parameters.data() + weight_, out_features_, in_features_,
                           in_features_};
  transpose(exec, "quern::layers::linear_transpose",
            {weight_t_.data(), in_features_, out_features_, row}, weight);
  multiply(exec, "quern::layers::linear_forward",
           {y.data.data(), y.slots, out_features_, y.row_stride()}, rows_of(x),
           {weight_t_.data(), in_features_, out_features_, row}, step.parameters.data() + bias_);
}

void Linear::backward(const ExecSpace& exec, const StepContext& step, const Activation& x,
                      const Activation&, const Activation& dy, const Activation& dx) {
  multiply_blocks(exec, "quern::layers::linear_weight_gradient", step.schedule, step.gradients,
                  weight_, rows_of(dy), rows_of(x));
  block_tree_sum(exec, "quern::layers::linear_bias_gradient", step.schedule, dy.data,
                 dy.row_stride(), out_features_, step.gradients, bias_);
  if (dx.empty()) return;
  multiply(exec, "quern::layers::linear_input_gradient",
           {dx.data.data(), dx.slots, in_features_, dx.row_stride()}, rows_of(dy),
           {step.parameters.data() + weight_, out_features_, in_features_, in_features_}, nullptr);
}

}  // namespace quern

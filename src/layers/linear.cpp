// SPDX-License-Identifier: Apache-2.0
#include "layers/linear.hpp"

namespace quern {

Linear::Linear(const LayerSpec& spec, const Shape& input, const KernelChoice& choice)
    : Layer(spec.name, input, Shape{spec.features}),
      kernels_(linear_kernels(choice)),
      shape_{input.units(), spec.features, {}, spec.bias ? 0 : -1},
      training_(training_of(spec)) {}

Layout Linear::input_layout(Layout) const {
  return kernels_.in_tiles ? Layout::tiles : flat_layout();
}

LayerTraits Linear::traits() const {
  return {.applies_relu = true,
          .applies_input_relu = true,
          .writes_tiles = kernels_.in_tiles,
          .hands_over_output = kernels_.in_tiles,
          .updates_parameters = kernels_.in_tiles && training_ == Training::trained};
}

void Linear::add_parameters(ParameterTable& table) {
  const int in = shape_.in;
  const int out = shape_.out;
  const bool in_panels = flat_layout() == Layout::cn16c;
  const std::int64_t panel = in_panels ? kLanes : row_floats(out);
  shape_.weight = {table.add_transposed(name() + ".weight", out, in, panel, training_), panel,
                   in_panels ? panel * in : std::int64_t{kLanes}};
  if (shape_.has_bias())
    shape_.bias = table.add(name() + ".bias", {out}, in, ParameterKind::bias, training_);
  if (training_ == Training::frozen) frozen_ = table.reduced_size();
}

void Linear::set_up(const LayerSetup& setup) {
  with_relu_ = setup.with_relu;
  with_input_relu_ = setup.with_input_relu;
  hands_over_output_ = setup.hands_over_output;
  products_ = setup.products;
  if (training_ == Training::frozen && setup.first_frozen >= 0) frozen_ = setup.first_frozen;
}

std::int64_t Linear::own_floats(const BatchLimit& /*most*/) const {
  return kernels_.own_floats(shape_);
}

std::int64_t Linear::workspace_floats(const BatchLimit& most) const {
  return kernels_.workspace_floats(shape_, *products_, most.rows);
}

LinearPass Linear::pass_of(const StepContext& step) const {
  return {shape_,
          step.parameters.data() + frozen_,
          *products_,
          with_relu_,
          with_input_relu_,
          training_ == Training::trained,
          hands_over_output_ ? step.output_reader : nullptr};
}

void Linear::forward(const ExecSpace& exec, const StepContext& step,
                     const LayerArrays& arrays) const {
  kernels_.forward(exec, pass_of(step), step, arrays);
}

void Linear::backward(const ExecSpace& exec, const StepContext& step,
                      const LayerArrays& arrays) const {
  kernels_.backward(exec, pass_of(step), step, arrays);
}

}  // namespace quern

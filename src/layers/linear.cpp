// SPDX-License-Identifier: Apache-2.0
#include "layers/linear.hpp"

#include "layers/host/linear_tiles.hpp"
#include "layers/host/tile_rounding.hpp"
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

Linear::Linear(const LayerSpec& spec, const Shape& input, OperandPrecision precision)
    : Layer(spec.name, input, Shape{spec.features}),
      in_features_(input.units()),
      out_features_(spec.features),
      training_(training_of(spec)),
      has_tiles_(precision == OperandPrecision::bf16 && kHostExecution && !runs_device_kernels()) {}

Layout Linear::input_layout(Layout) const {
  return has_tiles_ ? Layout::tiles : flat_layout();
}

LayerTraits Linear::traits() const {
  return {.applies_relu = true,
          .applies_input_relu = true,
          .writes_tiles = has_tiles_,
          .updates_parameters = has_tiles_ && training_ == Training::trained};
}

void Linear::add_parameters(ParameterTable& table) {
  const bool in_panels = flat_layout() == Layout::cn16c;
  const std::int64_t panel = in_panels ? kLanes : row_floats(out_features_);
  weight_ = {
      table.add_transposed(name() + ".weight", out_features_, in_features_, panel, training_),
      panel, in_panels ? panel * in_features_ : std::int64_t{kLanes}};
  bias_ =
      table.add(name() + ".bias", {out_features_}, in_features_, ParameterKind::bias, training_);
  if (training_ == Training::frozen) frozen_ = table.reduced_size();
}

void Linear::set_up(const LayerSetup& setup) {
  with_relu_ = setup.with_relu;
  with_input_relu_ = setup.with_input_relu;
  products_ = setup.products;
  if (training_ == Training::frozen && setup.first_frozen >= 0) frozen_ = setup.first_frozen;
}

// W as the input gradient reads it; or W rounded for forward and for the input gradient.
std::int64_t Linear::own_floats(const BatchLimit& /*most*/) const {
  if (has_tiles_) return 2 * tiles_shape().packed_floats();
  return products_->copy_floats(in_features_, out_features_);
}

// Or dy rounded.
std::int64_t Linear::workspace_floats(const BatchLimit& most) const {
  if (has_tiles_) return OperandTiles::floats(out_features_, most.rows);
  return products_->workspace_floats(in_features_, weight_.stride, most.rows);
}

host::LinearShape Linear::tiles_shape() const {
  return {in_features_, out_features_, weight_, bias_};
}

ConstMatrix Linear::weight_t(const StepContext& step) const {
  return {parameters(step) + weight_.offset, in_features_, out_features_, weight_.stride,
          weight_.panel};
}

void Linear::forward(const ExecSpace& exec, const StepContext& step,
                     const LayerArrays& arrays) const {
  if constexpr (kHostExecution) {
    if (has_tiles_) {
      forward_in_tiles(exec, step, arrays);
      return;
    }
  }
  Epilogue epilogue;
  epilogue.bias = parameters(step) + bias_;
  epilogue.relu = with_relu_;
  products_->multiply(exec, "quern::layers::linear_forward", matrix_of(arrays.y),
                      values_of(arrays.x), weight_t(step), epilogue);
}

void Linear::parameter_gradients(const ExecSpace& exec, const StepContext& step,
                                 const LayerArrays& arrays) const {
  products_->multiply_blocks(exec, "quern::layers::linear_weight_gradient", step.schedule,
                             step.gradients, weight_, values_of(arrays.x), values_of(arrays.dy),
                             {bias_, "quern::layers::linear_bias_gradient"}, arrays.workspace);
}

void Linear::backward(const ExecSpace& exec, const StepContext& step,
                      const LayerArrays& arrays) const {
  if constexpr (kHostExecution) {
    if (has_tiles_) {
      backward_in_tiles(exec, step, arrays);
      return;
    }
  }
  if (training_ == Training::trained) parameter_gradients(exec, step, arrays);
  if (!arrays.dx.empty()) input_gradient(exec, step, arrays);
}

void Linear::input_gradient(const ExecSpace& exec, const StepContext& step,
                            const LayerArrays& arrays) const {
  Epilogue epilogue;
  if (with_input_relu_) epilogue.relu_mask = arrays.x.data.data();
  products_->multiply_transposed(exec, "quern::layers::linear_input_gradient", matrix_of(arrays.dx),
                                 values_of(arrays.dy), weight_t(step), epilogue,
                                 {arrays.own, "quern::layers::linear_transpose"});
}

void Linear::forward_in_tiles(const ExecSpace& exec, const StepContext& step,
                              const LayerArrays& arrays) const {
  if constexpr (kHostExecution) {
    const host::LinearShape shape = tiles_shape();
    const float* weights = parameters(step);
    auto* packed = reinterpret_cast<std::uint16_t*>(arrays.own.data());
    const bool has_gradient = step.mode == Mode::train && !arrays.dx.empty();
    if (!step.has_packed_weights) {
      host::pack_linear_weights(exec, shape, weights, packed,
                                has_gradient ? packed + shape.packed_bf16() : nullptr);
    }
    host::linear_forward(exec, shape, packed, weights, with_relu_, arrays.x, arrays.y);
  }
}

void Linear::backward_in_tiles(const ExecSpace& exec, const StepContext& step,
                               const LayerArrays& arrays) const {
  if constexpr (kHostExecution) {
    const host::LinearShape shape = tiles_shape();
    const Activation& dy = arrays.dy;
    const OperandTiles x(arrays.x);
    OperandTiles gradient(dy);
    if (dy.layout != Layout::tiles) {
      gradient = {arrays.workspace.data(), out_features_, dy.rows, dy.block_rows};
      host::round_gradients(exec, dy, gradient);
    }
    auto* packed = reinterpret_cast<std::uint16_t*>(arrays.own.data());
    auto* backward = arrays.dx.empty() ? nullptr : packed + shape.packed_bf16();
    if (backward) {
      host::linear_input_gradient(exec, shape, backward, gradient, with_input_relu_ ? &x : nullptr,
                                  arrays.dx);
    }
    if (training_ == Training::frozen) return;
    host::linear_parameter_gradients(exec, shape, step.schedule, x, gradient, step.gradients,
                                     step.update, parameters(step), packed, backward);
  }
}

}  // namespace quern

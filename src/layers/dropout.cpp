// SPDX-License-Identifier: Apache-2.0
#include "layers/dropout.hpp"

#include "base/assert.hpp"
#include "layers/dropout_kernels.hpp"
#include "layers/layout.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

void apply_mask(const ExecSpace& exec, const std::string& label, const StepContext& step,
                std::uint32_t layer, float probability, const Activation& from,
                const Activation& to) {
  expect(from.size() == to.size() && from.layout == to.layout, "an output shaped like the input");
  expect(step.sample_of_row.extent_int(0) >= from.rows, "a sample for every row");
  const float scale = probability < 1 ? 1 / (1 - probability) : 0;
  const DropoutMask mask{
      from.data.data(), to.data.data(), step.scalars,      step.sample_of_row, layer,
      probability,      scale,          from.shape.units()};
  const auto apply = choose_kernels<ApplyDropout>(
      {.host = host_set<host::apply_dropout>(), .device = device::apply_dropout});
  apply(exec, label, mask, from);
}

}  // namespace

Dropout::Dropout(const LayerSpec& spec, const Shape& input, int layer_number)
    : Layer(spec.name, input, input),
      probability_(static_cast<float>(spec.probability)),
      layer_number_(static_cast<std::uint32_t>(layer_number)) {
  expect(layer_number >= 0 && layer_number < DropoutCounter::kMaxLayers, "at most 1024 layers");
}

void Dropout::forward(const ExecSpace& exec, const StepContext& step,
                      const LayerArrays& arrays) const {
  const Activation& x = arrays.x;
  const Activation& y = arrays.y;
  if (step.mode == Mode::evaluate)
    convert_layout(exec, x, y);  // a copy
  else
    apply_mask(exec, "quern::layers::dropout", step, layer_number_, probability_, x, y);
}

void Dropout::backward(const ExecSpace& exec, const StepContext& step,
                       const LayerArrays& arrays) const {
  const Activation& dy = arrays.dy;
  const Activation& dx = arrays.dx;
  if (dx.empty()) return;
  if (step.mode == Mode::evaluate)
    convert_layout(exec, dy, dx);
  else
    apply_mask(exec, "quern::layers::dropout_backward", step, layer_number_, probability_, dy, dx);
}

}  // namespace quern

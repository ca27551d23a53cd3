// SPDX-License-Identifier: Apache-2.0
#include "network/stages.hpp"

#include <utility>

namespace quern {

namespace {

bool may_overwrite_output(const Stages& stages) {
  // Not the batch itself, which may be the target; not what a backward pass wants to see again.
  if (stages.all.empty()) return false;
  const Layer* last = stages.all.back().layer.get();
  return !(last && last->needs_output());
}

}  // namespace

void Stages::append(std::unique_ptr<Layer> layer) {
  const Layout wanted = layer->input_layout(output.layout);
  if (wanted != output.layout) append_conversion(wanted);
  if (wanted == Layout::lanes) use_lanes = true;
  Stage stage;
  stage.region = region_of_layer(layer->name());
  stage.in_place = layer->in_place() && may_overwrite_output(*this);
  stage.x = output;
  stage.y = Activation{{}, layer->output_shape(), layer->output_layout(wanted), 0};
  output = stage.y;
  stage.layer = std::move(layer);
  all.push_back(std::move(stage));
}

void Stages::append_flatten() {
  if (output.layout == Layout::lanes) append_conversion(flat_layout());
  // Flat layouts hold the units in the same order whatever their shape is called.
  output.shape = Shape{output.shape.units()};
}

void Stages::append_conversion(Layout to) {
  if (to == Layout::lanes || output.layout == Layout::lanes) use_lanes = true;
  if (all.empty()) {
    input.layout = to;
    output.layout = to;
    return;
  }
  Stage stage;
  stage.region = region_of_layer("layout");
  stage.x = output;
  stage.y = Activation{{}, output.shape, to, 0};
  output = stage.y;
  all.push_back(std::move(stage));
}

}  // namespace quern

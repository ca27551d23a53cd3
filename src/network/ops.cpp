// SPDX-License-Identifier: Apache-2.0
#include "network/ops.hpp"

#include <utility>

namespace quern {

namespace {

bool may_overwrite_output(const Ops& ops) {
  // Not the batch itself, which may be the target; not what a backward pass wants to see again.
  if (ops.all.empty()) return false;
  const Layer* last = ops.all.back().layer.get();
  return !(last && last->needs_output());
}

}  // namespace

void Ops::append(std::unique_ptr<Layer> layer) {
  const Layout wanted = layer->input_layout(output.layout);
  if (wanted != output.layout) append_conversion(wanted);
  if (wanted == Layout::nchw16n) uses_nchw16n = true;
  Op op;
  op.region = region_of_layer(layer->name());
  op.in_place = layer->in_place() && may_overwrite_output(*this);
  op.x = output;
  op.y = Activation{{}, layer->output_shape(), layer->output_layout(wanted), 0};
  output = op.y;
  op.layer = std::move(layer);
  all.push_back(std::move(op));
}

void Ops::append_flatten() {
  if (output.layout == Layout::nchw16n) append_conversion(flat_layout());
  // Flat layouts hold the units in the same order whatever their shape is called.
  output.shape = Shape{output.shape.units()};
}

void Ops::append_conversion(Layout to) {
  if (to == Layout::nchw16n || output.layout == Layout::nchw16n) uses_nchw16n = true;
  if (all.empty()) {
    input.layout = to;
    output.layout = to;
    return;
  }
  Op op;
  op.region = region_of_layer("layout");
  op.x = output;
  op.y = Activation{{}, output.shape, to, 0};
  output = op.y;
  all.push_back(std::move(op));
}

}  // namespace quern

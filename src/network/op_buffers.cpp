// SPDX-License-Identifier: Apache-2.0
#include "network/op_buffers.hpp"

#include <algorithm>
#include <ranges>

namespace quern {

namespace {

std::int64_t floats_of(const Activation& activation, int max_rows) {
  return allocation_size(activation.shape, activation.layout, max_rows);
}

std::int64_t largest_output(const Ops& ops, int max_rows) {
  std::int64_t most = 0;
  for (const Op& op : ops.all) most = std::max(most, floats_of(op.y, max_rows));
  return most;
}

std::int64_t workspace_floats(const Ops& ops, int max_rows) {
  std::int64_t most = 0;
  for (const Op& op : ops.all) {
    if (op.layer) most = std::max(most, op.layer->workspace_floats(max_rows));
  }
  return most;
}

FloatView floats(const std::string& name, std::int64_t count) {
  if (count == 0) return FloatView();
  return FloatView("quern::network::" + name, static_cast<std::size_t>(count));
}

void allocate_activations(Ops& ops, int max_rows) {
  const auto allocate = [max_rows](const std::string& name, const Activation& like) {
    return allocate_activation("quern::network::" + name, like.shape, like.layout, max_rows);
  };
  ops.input = allocate("input", ops.input);
  FloatView current = ops.input.data;
  for (Op& op : ops.all) {
    op.x.data = current;
    if (!op.in_place) {
      current = allocate(op.layer ? op.layer->name() : "layout", op.y).data;
    }
    op.y.data = current;
  }
  ops.output.data = current;
}

// Backward goes from buffer to buffer: the gradient of an op's input never meets the gradient of
// its output, except in place.
Activation allocate_gradients(Ops& ops, int max_rows) {
  const std::int64_t size = largest_output(ops, max_rows);
  FloatView here = floats("gradient_a", size);
  FloatView there = floats("gradient_b", size);
  Activation d_output = ops.output;
  d_output.data = here;
  const auto first_trained =
      std::ranges::find_if(ops.all, [](const Op& op) { return op.first_parameter >= 0; });
  for (auto op = ops.all.end(); op != first_trained;) {
    --op;
    op->dy = op->y;
    op->dy.data = here;
    if (op == first_trained) break;
    op->dx = op->x;
    if (!op->in_place) std::swap(here, there);
    op->dx.data = here;
  }
  return d_output;
}

}  // namespace

Activation allocate_buffers(Ops& ops, int max_rows) {
  allocate_activations(ops, max_rows);
  const FloatView workspace = floats("workspace", workspace_floats(ops, max_rows));
  for (Op& op : ops.all) {
    if (!op.layer) continue;
    op.layer->allocate(max_rows);
    op.layer->use_workspace(workspace);
  }
  return allocate_gradients(ops, max_rows);
}

std::int64_t buffer_bytes(const Ops& ops, int max_rows) {
  std::int64_t floats = floats_of(ops.input, max_rows) + 2 * largest_output(ops, max_rows) +
                        workspace_floats(ops, max_rows);
  std::int64_t own_bytes = 0;
  for (const Op& op : ops.all) {
    if (!op.in_place) floats += floats_of(op.y, max_rows);
    if (op.layer) own_bytes += op.layer->own_bytes(max_rows);
  }
  return floats * std::int64_t{sizeof(float)} + own_bytes;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "network/stage_buffers.hpp"

#include <algorithm>
#include <ranges>

namespace quern {

namespace {

std::int64_t floats_of(const Activation& activation, int max_slots) {
  return allocation_size(activation.shape, activation.layout, max_slots);
}

std::int64_t largest_output(const Stages& stages, int max_slots) {
  std::int64_t most = 0;
  for (const Stage& stage : stages.all) most = std::max(most, floats_of(stage.y, max_slots));
  return most;
}

std::int64_t workspace_floats(const Stages& stages, int max_slots) {
  std::int64_t most = 0;
  for (const Stage& stage : stages.all) {
    if (stage.layer) most = std::max(most, stage.layer->workspace_floats(max_slots));
  }
  return most;
}

FloatView floats(const std::string& name, std::int64_t count) {
  if (count == 0) return FloatView();
  return FloatView("quern::network::" + name, static_cast<std::size_t>(count));
}

void allocate_activations(Stages& stages, int max_slots) {
  const auto allocate = [max_slots](const std::string& name, const Activation& like) {
    return allocate_activation("quern::network::" + name, like.shape, like.layout, max_slots);
  };
  stages.input = allocate("input", stages.input);
  FloatView current = stages.input.data;
  for (Stage& stage : stages.all) {
    stage.x.data = current;
    if (!stage.in_place) {
      current = allocate(stage.layer ? stage.layer->name() : "layout", stage.y).data;
    }
    stage.y.data = current;
  }
  stages.output.data = current;
}

// Backward walks from buffer to buffer: the gradient of a stage's input never meets the gradient of
// its output, except in place.
Activation allocate_gradients(Stages& stages, int max_slots) {
  const std::int64_t size = largest_output(stages, max_slots);
  FloatView here = floats("gradient_a", size);
  FloatView there = floats("gradient_b", size);
  Activation d_output = stages.output;
  d_output.data = here;
  const auto first_trained = std::ranges::find_if(
      stages.all, [](const Stage& stage) { return stage.first_parameter >= 0; });
  for (auto stage = stages.all.end(); stage != first_trained;) {
    --stage;
    stage->dy = stage->y;
    stage->dy.data = here;
    if (stage == first_trained) break;
    stage->dx = stage->x;
    if (!stage->in_place) std::swap(here, there);
    stage->dx.data = here;
  }
  return d_output;
}

}  // namespace

Activation allocate_buffers(Stages& stages, int max_slots) {
  allocate_activations(stages, max_slots);
  const FloatView workspace = floats("workspace", workspace_floats(stages, max_slots));
  for (Stage& stage : stages.all) {
    if (!stage.layer) continue;
    stage.layer->allocate(max_slots);
    stage.layer->use_workspace(workspace);
  }
  return allocate_gradients(stages, max_slots);
}

std::int64_t buffer_bytes(const Stages& stages, int max_slots) {
  std::int64_t floats = floats_of(stages.input, max_slots) + 2 * largest_output(stages, max_slots) +
                        workspace_floats(stages, max_slots);
  std::int64_t own_bytes = 0;
  for (const Stage& stage : stages.all) {
    if (!stage.in_place) floats += floats_of(stage.y, max_slots);
    if (stage.layer) own_bytes += stage.layer->own_bytes(max_slots);
  }
  return floats * std::int64_t{sizeof(float)} + own_bytes;
}

}  // namespace quern

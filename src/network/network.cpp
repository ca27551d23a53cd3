// SPDX-License-Identifier: Apache-2.0
#include "network/network.hpp"

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <limits>
#include <ranges>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "layers/dropout.hpp"
#include "layers/layout.hpp"
#include "network/build_layer.hpp"
#include "network/stage_buffers.hpp"
#include "network/stage_fusion.hpp"

namespace quern {

namespace {

constexpr std::size_t kMaxLayers = DropoutCounter::kMaxLayers;
constexpr std::int64_t kMaxTensor = std::numeric_limits<int>::max();

void check_sizes(const NetworkSpec& spec) {
  if (spec.layers.size() > kMaxLayers) {
    throw InputError("network.layers: " + std::to_string(spec.layers.size()) +
                     " layers, expected at most " + std::to_string(kMaxLayers));
  }
  if (spec.input.is_too_large()) {
    throw InputError("network.input is " + to_string(spec.input) + ", expected at most " +
                     std::to_string(kMaxUnits) + " values");
  }
}

void check_tensors(const ParameterTable& table) {
  for (const ParameterEntry& entry : table.entries()) {
    if (entry.count <= kMaxTensor) continue;
    throw InputError("network.layers: '" + entry.name + "' has " + std::to_string(entry.count) +
                     " parameters, expected at most " + std::to_string(kMaxTensor) +
                     " in one tensor");
  }
}

}  // namespace

Network::Network(const NetworkSpec& spec) {
  check_sizes(spec);
  append_layers(spec);
  add_parameters();
  fuse_relus(stages_);
  fuse_first_pool(stages_);
}

void Network::append_layers(const NetworkSpec& spec) {
  stages_.input = Activation{{}, spec.input, flat_layout(), 0};
  stages_.output = stages_.input;
  BuiltLayers built = build_layers(spec);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (!built.layers[i]) {
      stages_.append_flatten();
      continue;
    }
    stages_.append(std::move(built.layers[i]));
    stages_.all.back().full_macs = built.full_macs[i];
    stages_.all.back().is_relu = spec.layers[i].type == LayerType::relu;
  }
  if (stages_.all.empty()) throw InputError("network.layers: no layer that computes anything");
}

void Network::add_parameters() {
  for (Stage& stage : stages_.all) {
    if (!stage.layer) continue;
    const std::int64_t begin = table_.block_size();
    stage.layer->add_parameters(table_);
    if (table_.block_size() > begin) stage.first_parameter = begin;
  }
  if (table_.entries().empty()) {
    throw InputError(
        "network.layers: nothing to train (expected a layer with parameters, such as linear or "
        "conv2d)");
  }
  check_tensors(table_);
}

void Network::set_output_layout(Layout layout) {
  if (output_layout() != layout) stages_.append_conversion(layout);
}

bool Network::ends_with_relu() const {
  return stages_.all.back().is_relu && stages_.all.back().in_place;
}

void Network::leave_out_last_slope() {
  expect(ends_with_relu(), "a ReLU at the end");
  stages_.all.back().backward_fused = true;
}

void Network::use_precision(OperandPrecision precision) {
  for (Stage& stage : stages_.all) {
    if (stage.layer) stage.layer->use_precision(precision);
  }
}

void Network::use_products(const std::shared_ptr<DenseProducts>& products) {
  for (Stage& stage : stages_.all) {
    if (stage.layer) stage.layer->use_products(products);
  }
}

void Network::allocate(int max_slots) {
  d_output_ = allocate_buffers(stages_, max_slots);
}

std::int64_t Network::memory_bytes(int max_slots) const {
  return buffer_bytes(stages_, max_slots);
}

void Network::set_slots(int slots) {
  expect(slots % slot_multiple() == 0, "whole lane groups");
  for (Stage& stage : stages_.all) {
    for (Activation* activation : {&stage.x, &stage.y, &stage.dy, &stage.dx}) {
      activation->slots = slots;
    }
  }
  for (Activation* end : {&stages_.input, &stages_.output, &d_output_}) end->slots = slots;
}

void Network::forward(const ExecSpace& exec, const StepContext& step) {
  for (Stage& stage : stages_.all) {
    if (stage.forward_fused) continue;
    const Kokkos::Profiling::ScopedRegion region(stage.region);
    if (stage.layer) {
      stage.layer->forward(exec, step, stage.x, stage.y);
    } else {
      convert_layout(exec, stage.x, stage.y);
    }
  }
}

void Network::backward(const ExecSpace& exec, const StepContext& step,
                       const std::function<void(std::int64_t)>& complete_from) {
  for (Stage& stage : std::views::reverse(stages_.all)) {
    if (stage.dy.empty()) return;  // nothing below has parameters
    if (stage.backward_fused) continue;
    const Kokkos::Profiling::ScopedRegion region(stage.region);
    if (stage.layer) {
      stage.layer->backward(exec, step, stage.x, stage.y, stage.dy, stage.dx);
    } else {
      convert_layout(exec, stage.dy, stage.dx);
    }
    if (complete_from && stage.first_parameter >= 0) complete_from(stage.first_parameter);
  }
}

std::vector<const Layer*> Network::layers() const {
  std::vector<const Layer*> layers;
  for (const Stage& stage : stages_.all) {
    if (stage.layer) layers.push_back(stage.layer.get());
  }
  return layers;
}

std::int64_t Network::forward_macs() const {
  std::int64_t total = 0;
  for (const Stage& stage : stages_.all) total += stage.full_macs;
  return total;
}

std::int64_t Network::training_macs() const {
  std::int64_t total = 0;
  bool first = true;
  for (const Stage& stage : stages_.all) {
    if (stage.full_macs == 0) continue;
    total += (first ? 2 : 3) * stage.full_macs;
    first = false;
  }
  return total;
}

std::string Network::first_non_finite_layer(const StepContext& step) const {
  const auto samples =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), step.sample_of_slot);
  for (const Stage& stage : stages_.all) {
    if (!stage.layer) continue;
    const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), stage.y.data);
    const ActivationIndex at(stage.y);
    for (int slot = 0; slot < stage.y.slots; ++slot) {
      if (samples(slot) < 0) continue;
      for (int unit = 0; unit < stage.y.shape.units(); ++unit) {
        if (!Kokkos::isfinite(values(at(slot, unit)))) return stage.layer->name();
      }
    }
  }
  return "";
}

}  // namespace quern

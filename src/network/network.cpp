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
#include "network/op_buffers.hpp"
#include "network/op_fusion.hpp"

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
  fuse_relus(ops_);
  fuse_first_pool(ops_);
}

void Network::append_layers(const NetworkSpec& spec) {
  ops_.input = Activation{{}, spec.input, flat_layout(), 0};
  ops_.output = ops_.input;
  BuiltLayers built = build_layers(spec);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (!built.layers[i]) {
      ops_.append_flatten();
      continue;
    }
    ops_.append(std::move(built.layers[i]));
    ops_.all.back().full_macs = built.full_macs[i];
    ops_.all.back().is_relu = spec.layers[i].type == LayerType::relu;
  }
  if (ops_.all.empty()) throw InputError("network.layers: no layer that computes anything");
}

void Network::add_parameters() {
  for (Op& op : ops_.all) {
    if (!op.layer) continue;
    const std::int64_t begin = table_.block_size();
    op.layer->add_parameters(table_);
    if (table_.block_size() > begin) op.first_parameter = begin;
  }
  if (table_.entries().empty()) {
    throw InputError(
        "network.layers: nothing to train (expected a layer with parameters, such as linear or "
        "conv2d)");
  }
  check_tensors(table_);
}

void Network::set_output_layout(Layout layout) {
  if (output_layout() != layout) ops_.append_conversion(layout);
}

bool Network::ends_with_relu() const {
  return ops_.all.back().is_relu && ops_.all.back().in_place;
}

void Network::leave_out_last_derivative() {
  expect(ends_with_relu(), "a ReLU at the end");
  ops_.all.back().backward_fused = true;
}

void Network::use_precision(OperandPrecision precision) {
  for (Op& op : ops_.all) {
    if (op.layer) op.layer->use_precision(precision);
  }
}

void Network::use_products(const std::shared_ptr<DenseProducts>& products) {
  for (Op& op : ops_.all) {
    if (op.layer) op.layer->use_products(products);
  }
}

void Network::allocate(int max_rows) {
  d_output_ = allocate_buffers(ops_, max_rows);
}

std::int64_t Network::memory_bytes(int max_rows) const {
  return buffer_bytes(ops_, max_rows);
}

void Network::set_rows(int rows) {
  expect(rows % row_multiple() == 0, "whole lane groups");
  for (Op& op : ops_.all) {
    for (Activation* activation : {&op.x, &op.y, &op.dy, &op.dx}) {
      activation->rows = rows;
    }
  }
  for (Activation* end : {&ops_.input, &ops_.output, &d_output_}) end->rows = rows;
}

void Network::forward(const ExecSpace& exec, const StepContext& step) {
  for (Op& op : ops_.all) {
    if (op.forward_fused) continue;
    const Kokkos::Profiling::ScopedRegion region(op.region);
    if (op.layer) {
      op.layer->forward(exec, step, op.x, op.y);
    } else {
      convert_layout(exec, op.x, op.y);
    }
  }
}

void Network::backward(const ExecSpace& exec, const StepContext& step,
                       const std::function<void(std::int64_t)>& complete_from) {
  for (Op& op : std::views::reverse(ops_.all)) {
    if (op.dy.empty()) return;  // nothing below has parameters
    if (op.backward_fused) continue;
    const Kokkos::Profiling::ScopedRegion region(op.region);
    if (op.layer) {
      op.layer->backward(exec, step, op.x, op.y, op.dy, op.dx);
    } else {
      convert_layout(exec, op.dy, op.dx);
    }
    if (complete_from && op.first_parameter >= 0) complete_from(op.first_parameter);
  }
}

std::vector<const Layer*> Network::layers() const {
  std::vector<const Layer*> layers;
  for (const Op& op : ops_.all) {
    if (op.layer) layers.push_back(op.layer.get());
  }
  return layers;
}

std::int64_t Network::forward_macs() const {
  std::int64_t total = 0;
  for (const Op& op : ops_.all) total += op.full_macs;
  return total;
}

std::int64_t Network::training_macs() const {
  std::int64_t total = 0;
  bool first = true;
  for (const Op& op : ops_.all) {
    if (op.full_macs == 0) continue;
    total += (first ? 2 : 3) * op.full_macs;
    first = false;
  }
  return total;
}

std::string Network::first_non_finite_layer(const StepContext& step) const {
  const auto samples = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), step.sample_of_row);
  for (const Op& op : ops_.all) {
    if (!op.layer) continue;
    const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), op.y.data);
    const ActivationIndex at(op.y);
    for (int row = 0; row < op.y.rows; ++row) {
      if (samples(row) < 0) continue;
      for (int unit = 0; unit < op.y.shape.units(); ++unit) {
        if (!Kokkos::isfinite(values(at(row, unit)))) return op.layer->name();
      }
    }
  }
  return "";
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "network/network.hpp"

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <algorithm>
#include <limits>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "layers/dropout.hpp"
#include "layers/layout.hpp"
#include "network/build_layer.hpp"

namespace quern {

namespace {

constexpr std::size_t kMaxLayers = DropoutCounter::kMaxLayers;
constexpr std::int64_t kMaxTensor = std::numeric_limits<int>::max();

}  // namespace

Network::Network(const NetworkSpec& spec) {
  if (spec.layers.size() > kMaxLayers) {
    throw InputError("network.layers: " + std::to_string(spec.layers.size()) +
                     " layers, expected at most " + std::to_string(kMaxLayers));
  }
  if (spec.input.is_too_large()) {
    throw InputError("network.input is " + to_string(spec.input) + ", expected at most " +
                     std::to_string(kMaxUnits) + " values");
  }
  input_ = Activation{{}, spec.input, flat_layout(), 0};
  output_ = input_;
  BuiltLayers built = build_layers(spec);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (!built.layers[i]) {
      append_flatten();
      continue;
    }
    append(std::move(built.layers[i]));
    stages_.back().full_macs = built.full_macs[i];
    stages_.back().is_relu = spec.layers[i].type == LayerType::relu;
  }
  if (stages_.empty()) throw InputError("network.layers: no layer that computes anything");
  for (Stage& stage : stages_) {
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
  check_tensors();
  fuse_relus();
  fuse_first_pool();
}

void Network::check_tensors() const {
  for (const ParameterEntry& entry : table_.entries()) {
    if (entry.count <= kMaxTensor) continue;
    throw InputError("network.layers: '" + entry.name + "' has " + std::to_string(entry.count) +
                     " parameters, expected at most " + std::to_string(kMaxTensor) +
                     " in one tensor");
  }
}

void Network::fuse_relus() {
  for (std::size_t i = 1; i < stages_.size(); ++i) {
    Stage& stage = stages_[i];
    if (!stage.is_relu || !stage.in_place) continue;
    if (Layer* before = stages_[i - 1].layer.get()) stage.forward_fused = before->fuse_relu();
    if (i + 1 == stages_.size()) continue;
    if (Layer* behind = stages_[i + 1].layer.get()) {
      stage.backward_fused = behind->fuse_input_relu();
    }
  }
}

// Of [convolution, ReLU, pool] at the begin, where nobody wants the gradient of the input: the
// large image between them is neither written nor read.
void Network::fuse_first_pool() {
  if (stages_.size() < 3) return;
  Stage& convolution = stages_[0];
  Stage& relu = stages_[1];
  Stage& pool = stages_[2];
  if (!relu.forward_fused || !relu.backward_fused || !pool.layer) return;
  const std::optional<Pool> window = pool.layer->as_pool();
  if (!window || !convolution.layer->fuse_pool(*window)) return;
  // All three share the pool's output buffer.
  pool.in_place = pool.forward_fused = pool.backward_fused = true;
  convolution.y = relu.x = relu.y = pool.x = pool.y;
}

void Network::set_output_layout(Layout layout) {
  if (output_.layout != layout) append_conversion(layout);
}

bool Network::ends_with_relu() const {
  return stages_.back().is_relu && stages_.back().in_place;
}

void Network::leave_out_last_slope() {
  expect(ends_with_relu(), "a ReLU at the end");
  stages_.back().backward_fused = true;
}

void Network::use_precision(OperandPrecision precision) {
  for (Stage& stage : stages_) {
    if (stage.layer) stage.layer->use_precision(precision);
  }
}

void Network::use_products(const std::shared_ptr<DenseProducts>& products) {
  for (Stage& stage : stages_) {
    if (stage.layer) stage.layer->use_products(products);
  }
}

void Network::append_conversion(Layout to) {
  if (to == Layout::lanes || output_.layout == Layout::lanes) uses_lanes_ = true;
  if (stages_.empty()) {
    // The batch is gathered in the layout that the first layer wants.
    input_.layout = to;
    output_.layout = to;
    return;
  }
  Stage stage;
  stage.region = region_of("layout");
  stage.x = output_;
  stage.y = Activation{{}, output_.shape, to, 0};
  output_ = stage.y;
  stages_.push_back(std::move(stage));
}

void Network::append_flatten() {
  if (output_.layout == Layout::lanes) append_conversion(flat_layout());
  // Flat layouts hold the units in the same order whatever their shape is called.
  output_.shape = Shape{output_.shape.units()};
}

bool Network::may_overwrite_output() const {
  // Not the batch itself, which may be the target; not what a backward pass wants to see again.
  return !stages_.empty() && !(stages_.back().layer && stages_.back().layer->needs_output());
}

void Network::append(std::unique_ptr<Layer> layer) {
  const Layout wanted = layer->input_layout(output_.layout);
  if (wanted != output_.layout) append_conversion(wanted);
  if (wanted == Layout::lanes) uses_lanes_ = true;
  Stage stage;
  stage.region = region_of(layer->name());
  stage.in_place = layer->in_place() && may_overwrite_output();
  stage.x = output_;
  stage.y = Activation{{}, layer->output_shape(), layer->output_layout(wanted), 0};
  output_ = stage.y;
  stage.layer = std::move(layer);
  stages_.push_back(std::move(stage));
}

void Network::allocate(int max_slots) {
  input_ = allocate_activation("quern::network::input", input_.shape, input_.layout, max_slots);
  FloatView current = input_.data;
  std::int64_t largest = 0;
  for (Stage& stage : stages_) {
    stage.x.data = current;
    if (!stage.in_place) {
      const std::string name = stage.layer ? stage.layer->name() : "layout";
      current =
          allocate_activation("quern::network::" + name, stage.y.shape, stage.y.layout, max_slots)
              .data;
    }
    stage.y.data = current;
    largest = std::max(largest, static_cast<std::int64_t>(current.extent(0)));
    if (stage.layer) stage.layer->allocate(max_slots);
  }
  output_.data = current;
  const FloatView workspace("quern::network::workspace",
                            static_cast<std::size_t>(workspace_floats(max_slots)));
  for (Stage& stage : stages_) {
    if (stage.layer) stage.layer->use_workspace(workspace);
  }

  // Backward walks from buffer to buffer: the gradient of a stage's input never meets the gradient
  // of its output, except in place.
  const auto size = static_cast<std::size_t>(largest);
  FloatView gradient[2] = {FloatView("quern::network::gradient_a", size),
                           FloatView("quern::network::gradient_b", size)};
  const auto trains = [](const Stage& stage) { return stage.first_parameter >= 0; };
  const auto first_trained = std::find_if(stages_.begin(), stages_.end(), trains) - stages_.begin();
  int buffer = 0;
  d_output_ = output_;
  d_output_.data = gradient[buffer];
  for (auto i = static_cast<std::ptrdiff_t>(stages_.size()) - 1; i >= 0; --i) {
    Stage& stage = stages_[static_cast<std::size_t>(i)];
    if (i < first_trained) continue;
    stage.dy = stage.y;
    stage.dy.data = gradient[buffer];
    if (i == first_trained) continue;
    stage.dx = stage.x;
    if (!stage.in_place) buffer = 1 - buffer;
    stage.dx.data = gradient[buffer];
  }
}

std::int64_t Network::memory_bytes(int max_slots) const {
  std::int64_t total = allocation_size(input_.shape, input_.layout, max_slots);
  std::int64_t largest = 0;
  for (const Stage& stage : stages_) {
    const std::int64_t size = allocation_size(stage.y.shape, stage.y.layout, max_slots);
    if (!stage.in_place) total += size;
    largest = std::max(largest, size);
  }
  return (total + 2 * largest + workspace_floats(max_slots)) * std::int64_t{sizeof(float)};
}

std::int64_t Network::workspace_floats(int max_slots) const {
  std::int64_t most = 0;
  for (const Stage& stage : stages_) {
    if (stage.layer) most = std::max(most, stage.layer->workspace_floats(max_slots));
  }
  return most;
}

template <class F>
void Network::for_each_activation(F&& f) {
  for (Stage& stage : stages_) {
    f(stage.x);
    f(stage.y);
    f(stage.dy);
    f(stage.dx);
  }
  f(input_);
  f(output_);
  f(d_output_);
}

void Network::set_slots(int slots) {
  expect(slots % slot_multiple() == 0, "whole lane groups");
  for_each_activation([slots](Activation& activation) { activation.slots = slots; });
}

void Network::forward(const ExecSpace& exec, const StepContext& step) {
  for (Stage& stage : stages_) {
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
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    if (stage->dy.empty()) return;  // nothing below has parameters
    if (stage->backward_fused) continue;
    const Kokkos::Profiling::ScopedRegion region(stage->region);
    if (stage->layer) {
      stage->layer->backward(exec, step, stage->x, stage->y, stage->dy, stage->dx);
    } else {
      convert_layout(exec, stage->dy, stage->dx);
    }
    if (complete_from && stage->first_parameter >= 0) complete_from(stage->first_parameter);
  }
}

std::vector<const Layer*> Network::layers() const {
  std::vector<const Layer*> layers;
  for (const Stage& stage : stages_) {
    if (stage.layer) layers.push_back(stage.layer.get());
  }
  return layers;
}

std::int64_t Network::forward_macs() const {
  std::int64_t total = 0;
  for (const Stage& stage : stages_) total += stage.full_macs;
  return total;
}

std::int64_t Network::training_macs() const {
  std::int64_t total = 0;
  bool first = true;
  for (const Stage& stage : stages_) {
    if (stage.full_macs == 0) continue;
    total += (first ? 2 : 3) * stage.full_macs;
    first = false;
  }
  return total;
}

std::string Network::first_non_finite_layer(const StepContext& step) const {
  const auto samples =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), step.sample_of_slot);
  for (const Stage& stage : stages_) {
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

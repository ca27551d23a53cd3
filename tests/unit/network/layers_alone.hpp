// SPDX-License-Identifier: Apache-2.0
// Networks against their layers one by one, with a buffer for everything.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layers/reference/concat.hpp"
#include "network/build_layer.hpp"
#include "network/network.hpp"
#include "support/layer_specs.hpp"
#include "support/random_values.hpp"
#include "support/test_step.hpp"

namespace quern::test {

inline constexpr float kGarbage = 3;  // in padding and slack, where nothing may depend on it

struct Numbers {
  std::vector<float> output;
  std::vector<float> gradients;  // all partial sums of all tensors, gaps left out
};

// Values of the filled rows; `empty` in the others.
inline std::vector<float> row_values(const TestBatch& batch, int units, std::uint64_t seed,
                                     float empty) {
  const auto size = static_cast<std::size_t>(units);
  std::vector<float> values;
  for (const std::int64_t sample : sample_of_row(batch)) {
    const std::vector<float> drawn =
        random_values(size, seed * 100 + static_cast<std::uint64_t>(sample + 1));
    for (const float value : drawn) values.push_back(sample < 0 ? empty : value);
  }
  return values;
}

inline std::vector<float> filled_rows(const TestBatch& batch, const Activation& activation) {
  const std::vector<float> values = values_of(activation);
  const std::vector<std::int64_t> samples = sample_of_row(batch);
  std::vector<float> filled;
  for (int row = 0; row < activation.rows; ++row) {
    if (samples[static_cast<std::size_t>(row)] < 0) continue;
    const auto one = sample_of(values, activation.shape.units(), row);
    filled.insert(filled.end(), one.begin(), one.end());
  }
  return filled;
}

inline std::vector<float> gradients_of(const StepContext& step, const ParameterTable& table) {
  const std::vector<float> raw = to_vector(step.gradients.data);
  std::vector<float> values;
  for (int p = 0; p < step.schedule.num_partial_sums; ++p) {
    for (const ParameterEntry& entry : table.entries()) {
      const auto block = std::span(raw).subspan(static_cast<std::size_t>(p * step.gradients.stride),
                                                static_cast<std::size_t>(table.block_size()));
      const std::vector<float> tensor = read_tensor(entry, block);
      values.insert(values.end(), tensor.begin(), tensor.end());
    }
  }
  return values;
}

inline StepContext step_for(const TestBatch& batch, const ParameterTable& table) {
  StepContext step = make_test_step(batch, table.block_size());
  std::vector<float> parameters(static_cast<std::size_t>(table.block_size()) + 128, kGarbage);
  for (const ParameterEntry& entry : table.entries()) {
    const auto drawn = random_values(static_cast<std::size_t>(entry.count), 9, -0.5f, 0.5f);
    write_tensor(entry, drawn, parameters);
  }
  step.parameters = to_view(parameters);
  return step;
}

inline Numbers run_network(const NetworkSpec& spec, const TestBatch& batch, int spare_rows = 0,
                           bool recompute = false, const KernelChoice& kernels = {}) {
  NetworkSetup setup;
  setup.kernels = kernels;
  setup.recompute = recompute;
  const Network network(spec, setup);
  Activations arrays = network.allocate(batch.rows() + spare_rows);
  arrays.set_rows(batch.rows());
  const StepContext step = step_for(batch, network.table());
  const ExecSpace exec;
  set_values(arrays.input(), row_values(batch, spec.input.units(), 1, 0));
  network.forward(exec, step, arrays);
  const std::vector<float> output = filled_rows(batch, arrays.output());
  set_values(arrays.d_output(), row_values(batch, network.output_shape().units(), 2, 0));
  network.backward(exec, step, arrays);
  return {output, gradients_of(step, network.table())};
}

// The same with every layer on its own, and host arrays [rows, units] between them: nothing in
// place, nothing shared, no gradient left out.
class LayersAlone {
 public:
  LayersAlone(const NetworkSpec& spec, const TestBatch& batch, const KernelChoice& kernels = {})
      : spec_(spec), batch_(batch) {
    std::map<std::string, int> number{{"input", -1}};
    for (std::size_t i = 0; i < spec.layers.size(); ++i) {
      const LayerSpec& layer = spec.layers[i];
      Link& link = links_.emplace_back();
      if (layer.inputs.empty()) link.inputs = {static_cast<int>(i) - 1};
      for (const std::string& name : layer.inputs) link.inputs.push_back(number.at(name));
      number[layer.name] = static_cast<int>(i);
      const Shape& input = shape_of(link.inputs[0]);
      link.shape = layer.type == LayerType::flatten ? Shape{input.units()} : input;
      link.joins = layer.type == LayerType::concat;
      for (std::size_t k = 1; link.joins && k < link.inputs.size(); ++k)
        link.shape.channels += shape_of(link.inputs[k]).channels;
      if (layer.type == LayerType::flatten || reads_several(layer.type)) continue;
      KernelChoice choice = kernels;
      const int before = link.inputs[0];
      const bool after_conv2d =
          before >= 0 && spec.layers[static_cast<std::size_t>(before)].type == LayerType::conv2d;
      // Rounds what it reads behind a convolution alone.
      if (layer.type == LayerType::batch_norm && !after_conv2d)
        choice.precision = OperandPrecision::fp32;
      link.layer = build_layer(layer, input, static_cast<int>(i), choice);
      link.shape = link.layer->output_shape();
      link.layer->add_parameters(table_);
    }
    for (Link& link : links_) {
      if (!link.layer) continue;
      link.layer->set_up({.first_buffer = table_.trained_size()});
      link.arrays = allocate_memory(*link.layer, batch.rows());
    }
  }

  Numbers run() {
    const StepContext step = step_for(batch_, table_);
    batch_values_ = row_values(batch_, spec_.input.units(), 1, 0);
    for (Link& link : links_) forward(link, step);
    Link& last = links_.back();
    Numbers numbers{filled(last.y), {}};
    last.dy = row_values(batch_, last.shape.units(), 2, 0);
    for (auto link = links_.rbegin(); link != links_.rend(); ++link) backward(*link, step);
    numbers.gradients = gradients_of(step, table_);
    return numbers;
  }

 private:
  struct Link {
    std::unique_ptr<Layer> layer;  // null: flatten, add, concat
    bool joins = false;            // concat
    std::vector<int> inputs;       // links; -1: the batch
    Shape shape;                   // of the output
    LayerArrays arrays;
    std::vector<float> y, dy;
  };

  const Shape& shape_of(int link) const {
    return link < 0 ? spec_.input : links_[static_cast<std::size_t>(link)].shape;
  }
  const std::vector<float>& values_of_link(int link) const {
    return link < 0 ? batch_values_ : links_[static_cast<std::size_t>(link)].y;
  }
  Activation fresh(const Shape& shape, Layout layout) const {
    return filled_activation(shape, layout, batch_.rows(), kGarbage);
  }
  std::vector<float> filled(const std::vector<float>& values) const {
    const std::size_t units = values.size() / static_cast<std::size_t>(batch_.rows());
    const std::vector<std::int64_t> samples = sample_of_row(batch_);
    std::vector<float> kept;
    for (std::size_t row = 0; row < samples.size(); ++row) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * units);
      if (samples[row] >= 0) kept.insert(kept.end(), begin, begin + std::ptrdiff_t(units));
    }
    return kept;
  }
  static std::vector<float> sum_of(std::vector<float> a, const std::vector<float>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  std::vector<reference::ConcatPart<float>> parts_of(const Link& link, int row) const {
    std::vector<reference::ConcatPart<float>> parts;
    for (const int input : link.inputs) {
      const Shape& shape = shape_of(input);
      const std::vector<float>& values = values_of_link(input);
      parts.push_back({shape, sample_of(values, shape.units(), row)});
    }
    return parts;
  }

  void join(Link& link) const {
    link.y.clear();
    for (int row = 0; row < batch_.rows(); ++row) {
      const std::vector<float> joined = reference::concat(parts_of(link, row));
      link.y.insert(link.y.end(), joined.begin(), joined.end());
    }
  }

  // The gradient of input number `k`.
  std::vector<float> part_of_gradient(const Link& link, std::size_t k) const {
    std::vector<float> part;
    for (int row = 0; row < batch_.rows(); ++row) {
      const std::vector<float> dy = sample_of(link.dy, link.shape.units(), row);
      const std::vector<float> dx = reference::concat_backward(parts_of(link, row), k, dy);
      part.insert(part.end(), dx.begin(), dx.end());
    }
    return part;
  }

  void forward(Link& link, const StepContext& step) const {
    if (link.joins) return join(link);
    link.y = values_of_link(link.inputs[0]);
    if (!link.layer) {
      for (std::size_t k = 1; k < link.inputs.size(); ++k)
        link.y = sum_of(link.y, values_of_link(link.inputs[k]));
      return;
    }
    const Layout layout = link.layer->input_layout(flat_layout());
    link.arrays.x = fresh(link.layer->input_shape(), layout);
    set_values(link.arrays.x, link.y);
    link.arrays.y = fresh(link.shape, link.layer->output_layout(layout));
    link.layer->forward(ExecSpace(), step, link.arrays);
    link.y = values_of(link.arrays.y);
  }

  void backward(Link& link, const StepContext& step) {
    std::vector<float> dx = link.dy;
    if (link.layer) {
      link.arrays.dx = fresh(link.arrays.x.shape, link.arrays.x.layout);
      link.arrays.dy = fresh(link.shape, link.arrays.y.layout);
      set_values(link.arrays.dy, link.dy);
      link.layer->backward(ExecSpace(), step, link.arrays);
      dx = values_of(link.arrays.dx);
    }
    for (std::size_t k = 0; k < link.inputs.size(); ++k) {
      const int input = link.inputs[k];
      if (input < 0) continue;
      if (link.joins) dx = part_of_gradient(link, k);
      std::vector<float>& gradient = links_[static_cast<std::size_t>(input)].dy;
      gradient = gradient.empty() ? dx : sum_of(gradient, dx);
    }
  }

  const NetworkSpec& spec_;
  const TestBatch& batch_;
  ParameterTable table_;
  std::vector<float> batch_values_;
  std::vector<Link> links_;
};

inline void expect_same_as_layers(const NetworkSpec& spec, const KernelChoice& kernels = {}) {
  for (const TestBatch& batch : {TestBatch{7, 3, 16}, TestBatch{18, 17, 32}, TestBatch{1, 1, 16}}) {
    SCOPED_TRACE(std::to_string(batch.samples) + " samples");
    const Numbers expected = LayersAlone(spec, batch, kernels).run();
    for (const auto& [spare_rows, recompute] :
         std::vector<std::pair<int, bool>>{{0, false}, {32, false}, {0, true}}) {
      SCOPED_TRACE(recompute ? "values computed again" : "all values kept");
      const Numbers actual = run_network(spec, batch, spare_rows, recompute, kernels);
      EXPECT_EQ(actual.output, expected.output);
      EXPECT_EQ(actual.gradients, expected.gradients);
    }
  }
}

}  // namespace quern::test

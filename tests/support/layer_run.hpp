// SPDX-License-Identifier: Apache-2.0
// Runs one layer forward and backward on logical host data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "layers/layer.hpp"
#include "support/activation_io.hpp"

namespace quern::test {

struct LayerRun {
  std::vector<float> y;                                 ///< [samples, units of y]
  std::vector<float> dx;                                ///< [samples, units of x]
  std::map<std::string, std::vector<float>> gradients;  ///< summed over all samples, by name
};

/// `parameters` by name, as LayerRun::gradients. Samples are put into micro-blocks of
/// `block_samples`, the last one short; slots of a block are rounded up to lanes where the layer
/// works in lanes.
inline LayerRun run_layer(Layer& layer, int samples, int block_samples, const std::vector<float>& x,
                          const std::vector<float>& dy,
                          const std::map<std::string, std::vector<float>>& parameters) {
  const Layout layout = layer.input_layout(flat_layout());
  const int multiple = layout == Layout::lanes ? kLanes : 1;
  const int block_slots = (block_samples + multiple - 1) / multiple * multiple;
  const int blocks = (samples + block_samples - 1) / block_samples;
  const BlockSchedule schedule = make_block_schedule(0, blocks, blocks, block_slots);

  // Sample i sits in slot (its block) * block_slots + (its place in the block).
  const auto spread = [&](const Activation& a, const std::vector<float>& values) {
    const int units = a.shape.units();
    std::vector<float> slots(static_cast<std::size_t>(a.slots) * units, 0.0f);
    for (int i = 0; i < samples; ++i) {
      const int slot = i / block_samples * block_slots + i % block_samples;
      for (int u = 0; u < units; ++u) slots[slot * units + u] = values[i * units + u];
    }
    fill(a, slots);
  };
  const auto collect = [&](const Activation& a) {
    const int units = a.shape.units();
    const std::vector<float> slots = read(a, a.slots);
    std::vector<float> values;
    for (int i = 0; i < samples; ++i) {
      const int slot = i / block_samples * block_slots + i % block_samples;
      for (int u = 0; u < units; ++u) values.push_back(slots[slot * units + u]);
    }
    return values;
  };

  ParameterTable table;
  layer.add_parameters(table);
  layer.allocate(schedule.slots());
  layer.use_workspace(
      FloatView("quern::test::workspace",
                static_cast<std::size_t>(layer.workspace_floats(schedule.slots()))));
  std::vector<float> block(static_cast<std::size_t>(table.block_size()), 0.0f);
  for (const ParameterEntry& entry : table.entries()) {
    write_tensor(entry, parameters.at(entry.name), block);
  }
  const FloatView parameter_view = make_view(block);
  const FloatView gradient_view = make_view(std::vector<float>(block.size() + 16, 99.0f));
  const StepContext step{Mode::train,
                         schedule,
                         StepScalarsView("quern::test::scalars"),
                         View<std::int64_t>("quern::test::samples", schedule.slots()),
                         parameter_view,
                         {gradient_view, static_cast<std::int64_t>(block.size()) + 16}};

  const Activation x_a = make_activation(layer.input_shape(), layout, schedule.slots());
  const Activation dx_a = make_activation(layer.input_shape(), layout, schedule.slots());
  const Layout out = layer.output_layout(layout);
  const Activation y_a = make_activation(layer.output_shape(), out, schedule.slots());
  const Activation dy_a = make_activation(layer.output_shape(), out, schedule.slots());
  spread(x_a, x);
  spread(dy_a, dy);
  layer.forward(ExecSpace(), step, x_a, y_a);
  layer.backward(ExecSpace(), step, x_a, y_a, dy_a, dx_a);

  LayerRun run{collect(y_a), collect(dx_a), {}};
  const std::vector<float> gradients = read(gradient_view, 0, block.size());
  for (const ParameterEntry& entry : table.entries()) {
    run.gradients[entry.name] = read_tensor(entry, gradients);
  }
  return run;
}

/// Largest difference, relative to the largest magnitude of `expected`.
inline double relative_difference(const std::vector<double>& expected,
                                  const std::vector<float>& actual) {
  if (expected.size() != actual.size()) return 1e30;
  double largest = 1e-30;
  double difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(expected[i] - double{actual[i]}));
  }
  return difference / largest;
}

}  // namespace quern::test

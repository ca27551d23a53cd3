// SPDX-License-Identifier: Apache-2.0
// Runs one layer forward and backward on logical host data.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/ceil_div.hpp"
#include "layers/layer.hpp"
#include "layers/layout.hpp"
#include "support/activation_io.hpp"

namespace quern::test {

struct LayerRun {
  std::vector<float> y;                                 ///< [samples, units of y]
  std::vector<float> dx;                                ///< [samples, units of x]
  std::map<std::string, std::vector<float>> gradients;  ///< summed over all samples, by name
};

/// `parameters` by name, as LayerRun::gradients. Samples are put into micro-blocks of
/// `block_samples`, the last one short; rows of a block are rounded up to kLanes where the layer
/// works in nchw16n or tiles. Parameters and gradients are whole tensors, zero where the layer has
/// no part. What the layer wants in tiles is rounded; dx is not with `dx_in_floats`.
inline LayerRun run_layer(Layer& layer, int samples, int block_samples, const std::vector<float>& x,
                          const std::vector<float>& dy,
                          const std::map<std::string, std::vector<float>>& parameters,
                          const LayerSetup& setup = {}, TensorExchange* exchange = nullptr,
                          bool dx_in_floats = false) {
  const Layout layout = layer.input_layout(flat_layout());
  const bool in_tiles = layout == Layout::tiles;
  const int multiple = layout == Layout::nchw16n || in_tiles ? kLanes : 1;
  const int block_rows = round_up(block_samples, multiple);
  const int blocks = ceil_div(samples, block_samples);
  BlockSchedule schedule = make_block_schedule(0, blocks, blocks, block_rows);
  schedule.block_samples = block_samples;
  schedule.last_samples = samples - (blocks - 1) * block_samples;

  // Sample i sits in row (its block) * block_rows + (its place in the block).
  const auto spread = [&](const Activation& a, const std::vector<float>& values) {
    const int units = a.shape.units();
    std::vector<float> rows(static_cast<std::size_t>(a.rows) * units, 0.0f);
    for (int i = 0; i < samples; ++i) {
      const int row = i / block_samples * block_rows + i % block_samples;
      for (int u = 0; u < units; ++u) rows[row * units + u] = values[i * units + u];
    }
    fill(a, rows);
  };
  const auto collect = [&](const Activation& a) {
    const int units = a.shape.units();
    const std::vector<float> rows = read(a, a.rows);
    std::vector<float> values;
    for (int i = 0; i < samples; ++i) {
      const int row = i / block_samples * block_rows + i % block_samples;
      for (int u = 0; u < units; ++u) values.push_back(rows[row * units + u]);
    }
    return values;
  };

  ParameterTable table;
  layer.add_parameters(table);
  layer.set_up(setup);
  LayerArrays arrays = allocate_memory(layer, schedule.rows());
  Kokkos::deep_copy(arrays.workspace, std::numeric_limits<float>::quiet_NaN());
  std::vector<float> block(static_cast<std::size_t>(table.block_size()), 0.0f);
  for (const ParameterEntry& entry : table.entries()) {
    const auto begin = parameters.at(entry.name).begin() + entry.first_element();
    write_tensor(entry, std::vector<float>(begin, begin + entry.count), block);
  }
  const FloatView parameter_view = make_view(block);
  const FloatView gradient_view = make_view(std::vector<float>(block.size() + 16, 99.0f));
  StepContext step{Mode::train,
                   schedule,
                   StepScalarsView("quern::test::scalars"),
                   View<std::int64_t>("quern::test::samples", schedule.rows()),
                   parameter_view,
                   {gradient_view, static_cast<std::int64_t>(block.size()) + 16}};
  step.tensor_exchange = exchange;

  const Layout floats = in_tiles ? flat_layout() : layout;
  const Activation x_floats = make_activation(layer.input_shape(), floats, schedule.rows());
  const Activation dx_floats = make_activation(layer.input_shape(), floats, schedule.rows());
  arrays.x = x_floats;
  arrays.dx = dx_floats;
  for (Activation* operands : {&arrays.x, &arrays.dx}) {
    if (!in_tiles || (operands == &arrays.dx && dx_in_floats)) continue;
    *operands = make_activation(layer.input_shape(), layout, schedule.rows());
    operands->block_rows = block_rows;
  }
  const Layout out = layer.output_layout(layout);
  arrays.y = make_activation(layer.output_shape(), out, schedule.rows());
  arrays.dy = make_activation(layer.output_shape(), out, schedule.rows());
  arrays.dy.block_rows = block_rows;
  spread(x_floats, x);
  if (in_tiles) convert_layout(ExecSpace(), x_floats, arrays.x);
  spread(arrays.dy, dy);
  layer.forward(ExecSpace(), step, arrays);
  layer.store_statistics(ExecSpace(), step, arrays);
  layer.backward(ExecSpace(), step, arrays);
  if (arrays.dx.layout == Layout::tiles) convert_layout(ExecSpace(), arrays.dx, dx_floats);

  LayerRun run{collect(arrays.y), collect(dx_floats), {}};
  const std::vector<float> gradients = read(gradient_view, 0, block.size());
  for (const ParameterEntry& entry : table.entries()) {
    std::vector<float>& whole = run.gradients[entry.name];
    whole.resize(static_cast<std::size_t>(entry.whole_count()), 0.0f);
    const std::vector<float> part = read_tensor(entry, gradients);
    std::copy(part.begin(), part.end(), whole.begin() + entry.first_element());
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

// SPDX-License-Identifier: Apache-2.0
#include "support/gradient_check.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern::test {

namespace {

/// Everything one check needs; vectors are in the order [rows, units].
struct Bench {
  Layer& layer;
  const GradientCheck& check;
  StepContext step;
  ParameterTable table;
  LayerArrays arrays;
  std::vector<float> inputs;
  std::vector<float> parameters;
  std::vector<float> weights;  ///< r, zero in empty rows
};

std::vector<float> distinct_inputs(int rows, int units) {
  constexpr float spacing = 0.05f;
  std::vector<float> values;
  for (int s = 0; s < rows; ++s)
    for (int u = 0; u < units; ++u) {
      const int place = (u * 7919 + s * 31) % units;
      values.push_back((static_cast<float>(place - units / 2) + 0.5f) * spacing);
    }
  return values;
}

Bench make_bench(Layer& layer, const GradientCheck& check, Layout layout,
                 const ParameterTable& table, const LayerArrays& memory) {
  const int rows = check.batch.rows();
  const Shape in = layer.input_shape();
  const Shape out = layer.output_shape();
  Bench bench{layer, check, make_test_step(check.batch, table.block_size()), table, memory, {},
              {},    {}};
  bench.inputs = distinct_inputs(rows, in.units());
  bench.arrays.x = make_activation(in, layout, rows, bench.inputs, 0.5f);
  bench.arrays.y = filled_activation(out, layer.output_layout(layout), rows, 777);
  bench.parameters.assign(static_cast<std::size_t>(table.block_size()), 0.0f);
  for (const ParameterEntry& entry : table.entries()) {
    const auto values = random_values(static_cast<std::size_t>(entry.count), 11, -0.5f, 0.5f);
    write_tensor(entry, values, bench.parameters);
  }
  bench.weights = random_values(static_cast<std::size_t>(rows * out.units()), 12);
  const std::vector<std::int64_t> samples = sample_of_row(check.batch);
  for (int s = 0; s < rows; ++s)
    if (samples[static_cast<std::size_t>(s)] < 0)
      std::fill_n(bench.weights.begin() + std::ptrdiff_t{s} * out.units(), out.units(), 0.0f);
  return bench;
}

double objective(const Bench& bench) {
  const ExecSpace exec;
  set_values(bench.arrays.x, bench.inputs, 0.5f);
  Kokkos::deep_copy(bench.step.parameters, to_view(bench.parameters));
  bench.layer.forward(exec, bench.step, bench.arrays);
  exec.fence("test: read y");
  const std::vector<float> y = values_of(bench.arrays.y);
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    if (bench.weights[i] != 0) sum += double{bench.weights[i]} * double{y[i]};
  return sum;
}

/// Varies some of the elements `where` of `values` (inputs or parameters of the bench).
void compare(const Bench& bench, std::vector<float>& values, const std::vector<float>& derivative,
             const std::vector<std::size_t>& where, const std::string& what) {
  const std::size_t limit = static_cast<std::size_t>(bench.check.max_elements);
  const std::size_t stride = where.size() <= limit ? 1 : where.size() / limit | 1;
  for (std::size_t k = 0; k < where.size(); k += stride) {
    const std::size_t i = where[k];
    const float saved = values[i];
    values[i] = static_cast<float>(saved + bench.check.step);
    const double right = values[i];
    const double high = objective(bench);
    values[i] = static_cast<float>(saved - bench.check.step);
    const double numeric = (high - objective(bench)) / (right - values[i]);
    values[i] = saved;
    EXPECT_NEAR(derivative[i], numeric, bench.check.tolerance * (1 + std::abs(numeric)))
        << what << ", element " << k;
  }
}

void compare_inputs(Bench& bench, const Activation& dx) {
  const std::vector<float> gradients = values_of(dx);
  const std::vector<std::int64_t> samples = sample_of_row(bench.check.batch);
  const std::size_t units = gradients.size() / samples.size();
  std::vector<std::size_t> filled;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (samples[i / units] >= 0)
      filled.push_back(i);
    else
      EXPECT_EQ(gradients[i], 0) << bench.layer.name() << " dx of empty row " << i / units;
  compare(bench, bench.inputs, gradients, filled, bench.layer.name() + " dx");
}

void compare_parameters(Bench& bench) {
  std::vector<float> gradient(bench.parameters.size());
  const std::vector<float> partial_sums = to_vector(bench.step.gradients.data);
  for (std::size_t i = 0; i < partial_sums.size(); ++i)
    gradient[i % gradient.size()] += partial_sums[i];
  for (const ParameterEntry& entry : bench.table.entries()) {
    if (entry.is_buffer()) continue;  // statistics, no gradient
    std::vector<std::size_t> where;
    for (std::int64_t i = 0; i < entry.count; ++i) {
      where.push_back(static_cast<std::size_t>(entry.position(i)));
    }
    compare(bench, bench.parameters, gradient, where, entry.name);
  }
}

void check_in_layout(Layer& layer, const GradientCheck& check, Layout layout,
                     const ParameterTable& table, const LayerArrays& memory) {
  Bench bench = make_bench(layer, check, layout, table, memory);
  const ExecSpace exec;
  const int rows = check.batch.rows();
  objective(bench);
  bench.arrays.dy =
      make_activation(layer.output_shape(), bench.arrays.y.layout, rows, bench.weights, 0);
  bench.arrays.dx = filled_activation(layer.input_shape(), layout, rows, 777);
  layer.backward(exec, bench.step, bench.arrays);
  exec.fence("test: read gradients");
  compare_inputs(bench, bench.arrays.dx);
  compare_parameters(bench);
}

}  // namespace

void check_layer_gradients(Layer& layer, const GradientCheck& check) {
  ParameterTable table;
  layer.add_parameters(table);
  layer.set_up({});
  const LayerArrays memory = allocate_memory(layer, check.batch.rows());
  std::set<Layout> layouts;
  for (const Layout incoming : all_layouts()) layouts.insert(layer.input_layout(incoming));
  for (const Layout layout : layouts) check_in_layout(layer, check, layout, table, memory);
}

std::vector<double> central_differences(const std::function<double(const std::vector<double>&)>& f,
                                        std::vector<double> x, double step) {
  std::vector<double> derivative;
  for (double& value : x) {
    const double saved = value;
    value = saved + step;
    const double high = f(x);
    value = saved - step;
    derivative.push_back((high - f(x)) / (2 * step));
    value = saved;
  }
  return derivative;
}

}  // namespace quern::test

// SPDX-License-Identifier: Apache-2.0
// A layer that normalizes, with all that it is handed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "layers/layer.hpp"
#include "support/random_values.hpp"
#include "support/test_step.hpp"
#include "support/views.hpp"

namespace quern::test {

struct NormCase {
  Shape shape;
  Layout layout;
  TestBatch batch;
  float mean = 0.5f;  ///< of x

  std::string name() const {
    return to_string(shape) + ", " + std::to_string(batch.samples) + " samples, mean " +
           std::to_string(mean);
  }
  std::size_t values() const {
    return static_cast<std::size_t>(batch.rows()) * static_cast<std::size_t>(shape.units());
  }
};

struct NormResult {
  std::vector<float> y;
  std::vector<float> dx;
  std::map<std::string, std::vector<float>> tensors;  ///< gradients, and statistics of the batch
};

template <class NormLayer>
struct NormBench {
  NormCase c;
  NormLayer layer;
  ParameterTable table;
  StepContext step;
  LayerArrays arrays;
  std::vector<float> x;
  std::vector<float> dy;
  std::vector<float> parameters;

  /// `args`: of the layer's constructor.
  template <class... Args>
  NormBench(const NormCase& the_case, bool relu, Args&&... args)
      : c(the_case), layer(std::forward<Args>(args)...) {
    layer.add_parameters(table);
    LayerSetup setup;
    setup.with_relu = relu;
    layer.set_up(setup);
    step = make_test_step(c.batch, table.block_size());
    arrays = allocate_memory(layer, c.batch.rows());
    Kokkos::deep_copy(arrays.workspace, 777.0f);
    x = random_values(c.values(), 1, c.mean - 1, c.mean + 1);
    dy = random_values(c.values(), 2);
    parameters.assign(static_cast<std::size_t>(table.block_size()), 0.0f);
    for (const ParameterEntry& entry : table.entries())
      set_parameter(entry, 3 + entry.offset, -0.5f);
    arrays.y = filled_activation(c.shape, c.layout, c.batch.rows(), 777);
    arrays.dx = filled_activation(c.shape, c.layout, c.batch.rows(), 777);
    set_inputs(0);
  }

  /// Random numbers from `low` to 1.5.
  void set_parameter(const ParameterEntry& entry, std::int64_t seed, float low) {
    const auto count = static_cast<std::size_t>(entry.count);
    write_tensor(entry, random_values(count, seed, low, 1.5f), parameters);
    Kokkos::deep_copy(step.parameters, to_view(parameters));
  }

  /// Puts x and dy into the arrays, which hold `padding` behind them.
  void set_inputs(float padding) {
    arrays.x = make_activation(c.shape, c.layout, c.batch.rows(), x, padding);
    arrays.dy = make_activation(c.shape, c.layout, c.batch.rows(), dy, padding);
  }

  std::vector<float> parameter(const std::string& name) const {
    for (const ParameterEntry& entry : table.entries())
      if (entry.name == name) return read_tensor(entry, parameters);
    return {};
  }

  NormResult operator()() {
    const ExecSpace exec;
    layer.forward(exec, step, arrays);
    layer.store_statistics(exec, step, arrays);
    layer.backward(exec, step, arrays);
    exec.fence("test: read results");
    NormResult result{values_of(arrays.y), values_of(arrays.dx), {}};
    std::vector<float> sum(parameters.size(), 0.0f);
    const std::vector<float> partial_sums = to_vector(step.gradients.data);
    for (std::size_t i = 0; i < partial_sums.size(); ++i) sum[i % sum.size()] += partial_sums[i];
    for (const ParameterEntry& entry : table.entries())
      result.tensors[entry.name] = read_tensor(entry, sum);
    return result;
  }
};

/// Runs it. The partial sums are zero between the tensors.
template <class NormLayer>
void expect_no_trace_between_tensors(NormBench<NormLayer>& run) {
  run();
  std::vector<bool> is_gap(run.parameters.size(), true);
  for (const ParameterEntry& entry : run.table.entries())
    for (std::int64_t i = 0; i < entry.count; ++i)
      is_gap[static_cast<std::size_t>(entry.position(i))] = false;
  const std::vector<float> partial_sums = to_vector(run.step.gradients.data);
  for (std::size_t i = 0; i < partial_sums.size(); ++i)
    if (is_gap[i % is_gap.size()]) {
      ASSERT_EQ(partial_sums[i], 0) << run.c.name() << " " << i;
    }
}

/// `tolerance`: of the largest value, or of 1.
template <class Real>
void expect_near(const std::vector<float>& actual, const std::vector<Real>& expected,
                 double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 1;
  for (const Real value : expected) largest = std::max(largest, std::abs(double{value}));
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * largest) << what << " " << i;
}

}  // namespace quern::test

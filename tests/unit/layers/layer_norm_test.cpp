// SPDX-License-Identifier: Apache-2.0
#include "layers/layer_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "layers/reference/layer_norm.hpp"
#include "support/gradient_check.hpp"
#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

using test::TestBatch;

LayerSpec layer_norm_spec() {
  LayerSpec spec;
  spec.type = LayerType::layer_norm;
  spec.name = "ln1";
  return spec;
}

struct Case {
  Shape shape;
  Layout layout;
  TestBatch batch;
  float mean = 0.5f;

  std::string name() const {
    return to_string(shape) + ", " + std::to_string(batch.samples) + " samples, mean " +
           std::to_string(mean);
  }
  std::size_t values() const {
    return static_cast<std::size_t>(batch.rows()) * static_cast<std::size_t>(shape.units());
  }
};

// Odd sizes, short last blocks, empty rows, several segments of a sum, and a mean beside which the
// deviations are small.
std::vector<Case> cases() {
  const Layout flat = flat_layout();
  const Layout lanes = Layout::nchw16n;
  return {{{5, 3, 3}, lanes, {5, 2, 16}},     {{17, 1, 1}, lanes, {37, 32, 32}},
          {{3, 11, 13}, lanes, {70, 32, 32}}, {{16, 4, 4}, lanes, {32, 16, 16}},
          {{1, 16, 8}, lanes, {16, 16, 16}},  {{2, 5, 5}, lanes, {30, 15, 16}, 1000.0f},
          {{33, 1, 1}, flat, {37, 16, 16}},   {{1, 1, 1}, flat, {7, 5, 5}},
          {{16, 1, 1}, flat, {9, 3, 4}},      {{7, 1, 1}, flat, {70, 32, 32}, 1000.0f},
          {{2048, 1, 1}, flat, {6, 6, 6}},    {{5003, 1, 1}, flat, {5, 2, 3}, -20.0f}};
}

struct Result {
  std::vector<float> y;
  std::vector<float> dx;
  std::map<std::string, std::vector<float>> gradients;
};

/// A layer with all that it is handed.
struct Bench {
  Case c;
  LayerNorm layer;
  ParameterTable table;
  StepContext step;
  LayerArrays arrays;
  std::vector<float> x;
  std::vector<float> dy;
  std::vector<float> parameters;

  Bench(const Case& the_case, bool relu) : c(the_case), layer(layer_norm_spec(), c.shape) {
    layer.add_parameters(table);
    LayerSetup setup;
    setup.with_relu = relu;
    layer.set_up(setup);
    step = test::make_test_step(c.batch, table.block_size());
    arrays = allocate_memory(layer, c.batch.rows());
    Kokkos::deep_copy(arrays.workspace, 777.0f);
    x = test::random_values(c.values(), 1, c.mean - 1, c.mean + 1);
    dy = test::random_values(c.values(), 2);
    const std::vector<std::int64_t> samples = test::sample_of_row(c.batch);
    for (std::size_t i = 0; i < dy.size(); ++i)
      if (samples[i / static_cast<std::size_t>(c.shape.units())] < 0) dy[i] = 0;
    parameters.assign(static_cast<std::size_t>(table.block_size()), 0.0f);
    for (const ParameterEntry& entry : table.entries())
      write_tensor(
          entry,
          test::random_values(static_cast<std::size_t>(entry.count), 3 + entry.offset, -0.5f, 1.5f),
          parameters);
    Kokkos::deep_copy(step.parameters, test::to_view(parameters));
    // Padding is no part of a sample, whatever it holds.
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    arrays.x = test::make_activation(c.shape, c.layout, c.batch.rows(), x, nan);
    arrays.dy = test::make_activation(c.shape, c.layout, c.batch.rows(), dy, nan);
    arrays.y = test::filled_activation(c.shape, c.layout, c.batch.rows(), 777);
    arrays.dx = test::filled_activation(c.shape, c.layout, c.batch.rows(), 777);
  }

  std::vector<double> parameter(std::size_t index) const {
    const std::vector<float> values = read_tensor(table.entries()[index], parameters);
    return {values.begin(), values.end()};
  }

  Result operator()() {
    const ExecSpace exec;
    layer.forward(exec, step, arrays);
    layer.backward(exec, step, arrays);
    exec.fence("test: read results");
    Result result{test::values_of(arrays.y), test::values_of(arrays.dx), {}};
    std::vector<float> sum(parameters.size(), 0.0f);
    const std::vector<float> partial_sums = test::to_vector(step.gradients.data);
    for (std::size_t i = 0; i < partial_sums.size(); ++i) sum[i % sum.size()] += partial_sums[i];
    for (const ParameterEntry& entry : table.entries())
      result.gradients[entry.name] = read_tensor(entry, sum);
    return result;
  }
};

void expect_near(const std::vector<float>& actual, const std::vector<double>& expected,
                 double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 1;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * largest) << what << " " << i;
}

TEST(LayerNorm, MatchesTheReferenceInEveryLayout) {
  for (const Case& c : cases())
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(c.name() + (relu ? ", relu" : ""));
      Bench run(c, relu);
      const Result result = run();
      const auto units = static_cast<std::size_t>(c.shape.units());
      const std::vector<std::int64_t> samples = test::sample_of_row(c.batch);
      std::vector<double> d_weight(units);
      std::vector<double> d_bias(units);
      // Values beside a large mean carry its rounding.
      const double tolerance = std::abs(c.mean) > 10 ? 3e-4 : 1e-5;
      for (std::size_t row = 0; row < samples.size(); ++row) {
        if (samples[row] < 0) continue;
        const auto of_row = [&](const std::vector<float>& values) {
          return test::sample_of(values, c.shape.units(), static_cast<int>(row));
        };
        const std::vector<float> x = of_row(run.x);
        const std::vector<float> dy = of_row(run.dy);
        auto expected = reference::layer_norm({x.begin(), x.end()}, {dy.begin(), dy.end()},
                                              run.parameter(0), run.parameter(1), double{1e-5f});
        for (double& y : expected.y) y = relu ? std::max(y, 0.0) : y;
        expect_near(of_row(result.y), expected.y, tolerance, "y of row " + std::to_string(row));
        expect_near(of_row(result.dx), expected.dx, tolerance, "dx of row " + std::to_string(row));
        for (std::size_t u = 0; u < units; ++u) {
          d_weight[u] += expected.d_weight[u];
          d_bias[u] += expected.d_bias[u];
        }
      }
      expect_near(result.gradients.at("ln1.weight"), d_weight, tolerance, "d_weight");
      expect_near(result.gradients.at("ln1.bias"), d_bias, tolerance, "d_bias");
    }
}

TEST(LayerNorm, GradientMayLieWhereThatOfTheOutputDoes) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name());
    const Result apart = Bench(c, false)();
    Bench in_place(c, false);
    in_place.arrays.dx = in_place.arrays.dy;
    EXPECT_EQ(in_place().dx, apart.dx);
  }
}

// A sample gets the same bits in whichever row it sits, and so on any number of ranks.
TEST(LayerNorm, OfASampleIsTheSameInEveryRow) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name());
    Bench run(c, false);
    const auto units = static_cast<std::size_t>(c.shape.units());
    for (std::size_t i = 0; i < run.x.size(); ++i) {
      run.x[i] = run.x[i % units];
      run.dy[i] = run.dy[i % units];
    }
    test::set_values(run.arrays.x, run.x);
    test::set_values(run.arrays.dy, run.dy);
    const Result result = run();
    for (std::size_t i = 0; i < run.x.size(); ++i) {
      ASSERT_EQ(result.y[i], result.y[i % units]) << i;
      ASSERT_EQ(result.dx[i], result.dx[i % units]) << i;
    }
  }
}

TEST(LayerNorm, HasPyTorchsNamesShapesAndInitialValues) {
  for (const Shape& shape : {Shape{5}, Shape{2, 3, 7}}) {
    LayerNorm layer(layer_norm_spec(), shape);
    ParameterTable table;
    layer.add_parameters(table);
    const std::vector<std::int64_t> expected =
        shape.is_flat() ? std::vector<std::int64_t>{5} : std::vector<std::int64_t>{2, 3, 7};
    ASSERT_EQ(table.entries().size(), 2U);
    EXPECT_EQ(table.entries()[0].name, "ln1.weight");
    EXPECT_EQ(table.entries()[0].shape, expected);
    EXPECT_EQ(table.entries()[0].kind, ParameterKind::scale) << "begins at 1, does not decay";
    EXPECT_EQ(table.entries()[1].name, "ln1.bias");
    EXPECT_EQ(table.entries()[1].shape, expected);
    EXPECT_EQ(table.entries()[1].kind, ParameterKind::shift);
  }
}

TEST(LayerNorm, LeavesNoTraceBetweenTensors) {
  for (const Case& c : cases()) {
    Bench run(c, false);
    run();
    std::vector<bool> is_gap(run.parameters.size(), true);
    for (const ParameterEntry& entry : run.table.entries())
      for (std::int64_t i = 0; i < entry.count; ++i)
        is_gap[static_cast<std::size_t>(entry.position(i))] = false;
    const std::vector<float> partial_sums = test::to_vector(run.step.gradients.data);
    for (std::size_t i = 0; i < partial_sums.size(); ++i)
      if (is_gap[i % is_gap.size()]) {
        ASSERT_EQ(partial_sums[i], 0) << c.name() << " " << i;
      }
  }
}

TEST(LayerNorm, DerivativesMatchDifferences) {
  for (const Shape& shape : {Shape{3, 4, 5}, Shape{67}}) {
    LayerNorm layer(layer_norm_spec(), shape);
    test::GradientCheck check;
    check.batch = {7, 3, 16};
    check.step = 4e-3;
    test::check_layer_gradients(layer, check);
  }
}

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
TEST(LayerNorm, DeviceKernelsHaveTheHostsBits) {
  const bool before = runs_device_kernels();
  for (const Case& c : cases())
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(c.name());
      Case same = c;
      choose_device_kernels(false);
      if (same.layout != Layout::nchw16n) same.layout = flat_layout();
      const Result host = Bench(same, relu)();
      choose_device_kernels(true);
      if (same.layout != Layout::nchw16n) same.layout = flat_layout();
      const Result device = Bench(same, relu)();
      EXPECT_EQ(device.y, host.y);
      EXPECT_EQ(device.dx, host.dx);
      EXPECT_EQ(device.gradients, host.gradients);
    }
  choose_device_kernels(before);
}
#endif

}  // namespace
}  // namespace quern

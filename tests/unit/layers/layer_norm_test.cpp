// SPDX-License-Identifier: Apache-2.0
#include "layers/layer_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "layers/reference/layer_norm.hpp"
#include "support/gradient_check.hpp"
#include "support/norm_bench.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

using test::expect_near;
using Case = test::NormCase;
using Result = test::NormResult;

LayerSpec layer_norm_spec() {
  LayerSpec spec;
  spec.type = LayerType::layer_norm;
  spec.name = "ln1";
  return spec;
}

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

// Empty rows get no gradient. Padding is no part of a sample, whatever it holds.
struct Bench : test::NormBench<LayerNorm> {
  Bench(const Case& the_case, bool relu)
      : NormBench(the_case, relu, layer_norm_spec(), the_case.shape) {
    const std::vector<std::int64_t> samples = test::sample_of_row(c.batch);
    for (std::size_t i = 0; i < dy.size(); ++i)
      if (samples[i / static_cast<std::size_t>(c.shape.units())] < 0) dy[i] = 0;
    set_inputs(std::numeric_limits<float>::quiet_NaN());
  }

  std::vector<double> exact_parameter(const std::string& name) const {
    const std::vector<float> values = parameter(name);
    return {values.begin(), values.end()};
  }
};

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
                                              run.exact_parameter("ln1.weight"),
                                              run.exact_parameter("ln1.bias"), double{1e-5f});
        for (double& y : expected.y) y = relu ? std::max(y, 0.0) : y;
        expect_near(of_row(result.y), expected.y, tolerance, "y of row " + std::to_string(row));
        expect_near(of_row(result.dx), expected.dx, tolerance, "dx of row " + std::to_string(row));
        for (std::size_t u = 0; u < units; ++u) {
          d_weight[u] += expected.d_weight[u];
          d_bias[u] += expected.d_bias[u];
        }
      }
      expect_near(result.tensors.at("ln1.weight"), d_weight, tolerance, "d_weight");
      expect_near(result.tensors.at("ln1.bias"), d_bias, tolerance, "d_bias");
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
    test::expect_no_trace_between_tensors(run);
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
      EXPECT_EQ(device.tensors, host.tensors);
    }
  choose_device_kernels(before);
}
#endif

}  // namespace
}  // namespace quern

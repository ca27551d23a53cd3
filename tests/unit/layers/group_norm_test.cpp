// SPDX-License-Identifier: Apache-2.0
#include "layers/group_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "layers/reference/group_norm.hpp"
#include "support/gradient_check.hpp"
#include "support/norm_bench.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

using test::expect_near;
using Result = test::NormResult;

struct Case : test::NormCase {
  int sets;
};

LayerSpec group_norm_spec(int sets) {
  LayerSpec spec;
  spec.type = LayerType::group_norm;
  spec.name = "gn1";
  spec.groups = sets;
  return spec;
}

// Odd sizes, short last blocks, empty rows, one set, sets of one channel, several segments of a
// sum, and a mean beside which the deviations are small.
std::vector<Case> cases() {
  const Layout lanes = Layout::nchw16n;
  return {{{{6, 3, 3}, lanes, {5, 2, 16}}, 3},     {{{17, 1, 1}, lanes, {37, 32, 32}}, 1},
          {{{3, 11, 13}, lanes, {70, 32, 32}}, 3}, {{{16, 4, 4}, lanes, {32, 16, 16}}, 4},
          {{{35, 5, 2}, lanes, {30, 15, 16}}, 7},  {{{2, 5, 5}, lanes, {30, 15, 16}, 1000.0f}, 1},
          {{{4, 23, 17}, lanes, {19, 16, 16}}, 2}};
}

// Empty rows get no gradient.
struct Bench : test::NormBench<GroupNorm> {
  Bench(const Case& the_case, bool relu)
      : NormBench(the_case, relu, group_norm_spec(the_case.sets), the_case.shape),
        sets(the_case.sets) {
    const std::vector<std::int64_t> samples = test::sample_of_row(c.batch);
    for (std::size_t i = 0; i < dy.size(); ++i)
      if (samples[i / static_cast<std::size_t>(c.shape.units())] < 0) dy[i] = 0;
    set_inputs(0);
  }

  std::vector<double> exact_parameter(const std::string& name) const {
    const std::vector<float> values = parameter(name);
    return {values.begin(), values.end()};
  }

  int sets;
};

TEST(GroupNorm, MatchesTheReference) {
  for (const Case& c : cases())
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(c.name() + (relu ? ", relu" : ""));
      Bench run(c, relu);
      const Result result = run();
      const std::vector<std::int64_t> samples = test::sample_of_row(c.batch);
      std::vector<double> d_weight(static_cast<std::size_t>(c.shape.channels));
      std::vector<double> d_bias(d_weight.size());
      // Values beside a large mean carry its rounding.
      const double tolerance = std::abs(c.mean) > 10 ? 3e-4 : 1e-5;
      for (std::size_t row = 0; row < samples.size(); ++row) {
        if (samples[row] < 0) continue;
        const auto of_row = [&](const std::vector<float>& values) {
          return test::sample_of(values, c.shape.units(), static_cast<int>(row));
        };
        const std::vector<float> x = of_row(run.x);
        const std::vector<float> dy = of_row(run.dy);
        auto expected = reference::group_norm(
            {x.begin(), x.end()}, {dy.begin(), dy.end()}, run.exact_parameter("gn1.weight"),
            run.exact_parameter("gn1.bias"), c.sets, double{1e-5f});
        for (double& y : expected.y) y = relu ? std::max(y, 0.0) : y;
        expect_near(of_row(result.y), expected.y, tolerance, "y of row " + std::to_string(row));
        expect_near(of_row(result.dx), expected.dx, tolerance, "dx of row " + std::to_string(row));
        for (std::size_t channel = 0; channel < d_weight.size(); ++channel) {
          d_weight[channel] += expected.d_weight[channel];
          d_bias[channel] += expected.d_bias[channel];
        }
      }
      expect_near(result.tensors.at("gn1.weight"), d_weight, tolerance, "d_weight");
      expect_near(result.tensors.at("gn1.bias"), d_bias, tolerance, "d_bias");
    }
}

TEST(GroupNorm, GradientMayLieWhereThatOfTheOutputDoes) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name());
    const Result apart = Bench(c, false)();
    Bench in_place(c, false);
    in_place.arrays.dx = in_place.arrays.dy;
    EXPECT_EQ(in_place().dx, apart.dx);
  }
}

TEST(GroupNorm, WithoutAnInputGradientTheParametersHaveTheSame) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name());
    const Result with = Bench(c, false)();
    Bench without(c, false);
    without.arrays.dx = {};
    const ExecSpace exec;
    without.layer.forward(exec, without.step, without.arrays);
    without.layer.backward(exec, without.step, without.arrays);
    exec.fence("test: read results");
    std::vector<float> sum(without.parameters.size(), 0.0f);
    const std::vector<float> partial_sums = test::to_vector(without.step.gradients.data);
    for (std::size_t i = 0; i < partial_sums.size(); ++i) sum[i % sum.size()] += partial_sums[i];
    for (const ParameterEntry& entry : without.table.entries())
      EXPECT_EQ(read_tensor(entry, sum), with.tensors.at(entry.name));
  }
}

// A sample gets the same bits in whichever row it sits, and so on any number of ranks.
TEST(GroupNorm, OfASampleIsTheSameInEveryRow) {
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

TEST(GroupNorm, HasPyTorchsNamesShapesAndInitialValues) {
  GroupNorm layer(group_norm_spec(2), {4, 3, 7});
  ParameterTable table;
  layer.add_parameters(table);
  const std::vector<std::int64_t> expected = {4};
  ASSERT_EQ(table.entries().size(), 2U);
  EXPECT_EQ(table.entries()[0].name, "gn1.weight");
  EXPECT_EQ(table.entries()[0].shape, expected);
  EXPECT_EQ(table.entries()[0].kind, ParameterKind::scale) << "begins at 1, does not decay";
  EXPECT_EQ(table.entries()[1].name, "gn1.bias");
  EXPECT_EQ(table.entries()[1].shape, expected);
  EXPECT_EQ(table.entries()[1].kind, ParameterKind::shift);
}

TEST(GroupNorm, LeavesNoTraceBetweenTensors) {
  for (const Case& c : cases()) {
    Bench run(c, false);
    test::expect_no_trace_between_tensors(run);
  }
}

TEST(GroupNorm, DerivativesMatchDifferences) {
  for (const int sets : {1, 3}) {
    GroupNorm layer(group_norm_spec(sets), {6, 3, 5});
    test::GradientCheck check;
    check.batch = {7, 3, 16};
    check.step = 4e-3;
    test::check_layer_gradients(layer, check);
  }
}

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
TEST(GroupNorm, DeviceKernelsHaveTheHostsBits) {
  const bool before = runs_device_kernels();
  for (const Case& c : cases())
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(c.name());
      choose_device_kernels(false);
      const Result host = Bench(c, relu)();
      choose_device_kernels(true);
      const Result device = Bench(c, relu)();
      EXPECT_EQ(device.y, host.y);
      EXPECT_EQ(device.dx, host.dx);
      EXPECT_EQ(device.tensors, host.tensors);
    }
  choose_device_kernels(before);
}
#endif

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "layers/batch_norm.hpp"

#include <gtest/gtest.h>

#include <string>

#include "layers/reference/batch_norm.hpp"
#include "support/gradient_check.hpp"
#include "support/norm_bench.hpp"
#include "support/tiles.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

using test::expect_near;
using Case = test::NormCase;
using Result = test::NormResult;
using Values = std::vector<float>;

LayerSpec spec_of(Statistics statistics) {
  LayerSpec spec;
  spec.type = LayerType::batch_norm;
  spec.name = "bn1";
  spec.statistics = statistics;
  return spec;
}

// Odd sizes, short last blocks, empty rows, and a mean beside which the deviations are small.
std::vector<Case> cases() {
  const Layout flat = flat_layout();
  const Layout lanes = Layout::nchw16n;
  return {{{5, 3, 3}, lanes, {5, 2, 16}},
          {{1, 7, 1}, lanes, {5, 2, 16}},
          {{17, 1, 1}, lanes, {37, 32, 32}},
          {{3, 2, 5}, lanes, {70, 32, 32}},
          {{16, 4, 4}, lanes, {32, 16, 16}},
          {{33, 1, 1}, flat, {37, 16, 16}},
          {{1, 1, 1}, flat, {7, 5, 5}},
          {{16, 1, 1}, flat, {9, 3, 4}},
          {{20, 1, 1}, flat, {70, 32, 32}, 1000.0f},
          {{2, 5, 5}, lanes, {30, 15, 16}, 1000.0f},
          {{3, 3, 3}, lanes, {30, 15, 16}, -50.0f}};
}

struct Bench : test::NormBench<BatchNorm> {
  Bench(const Case& the_case, const LayerSpec& spec, bool relu, const KernelChoice& choice = {})
      : NormBench(the_case, relu, spec, the_case.shape, choice) {
    for (const ParameterEntry& entry : table.entries())
      if (entry.name == "bn1.running_var") set_parameter(entry, 9, 0.5f);
  }
};

/// Places [row, unit] of a channel's values in used rows, by the group that shares a mean.
std::vector<std::vector<std::size_t>> groups_of(const Case& c, int channel, Statistics statistics) {
  const std::vector<std::int64_t> samples = test::sample_of_row(c.batch);
  const int pixels = c.shape.height * c.shape.width;
  const auto blocks = static_cast<std::size_t>(c.batch.num_blocks());
  std::vector<std::vector<std::size_t>> groups(statistics == Statistics::block ? blocks : 1);
  for (int row = 0; row < c.batch.rows(); ++row) {
    if (samples[static_cast<std::size_t>(row)] < 0) continue;
    const std::size_t group =
        statistics == Statistics::block ? static_cast<std::size_t>(row / c.batch.block_rows) : 0;
    for (int p = 0; p < pixels; ++p)
      groups[group].push_back(
          static_cast<std::size_t>(row * c.shape.units() + channel * pixels + p));
  }
  return groups;
}

/// Adds what the reference finds to `expected`, whose arrays are zeros.
void add_reference(const Bench& run, Statistics statistics, bool relu, Result& expected) {
  const std::vector<float> scale = run.parameter("bn1.weight");
  const std::vector<float> shift = run.parameter("bn1.bias");
  const double values = double(run.c.batch.samples) * run.c.shape.height * run.c.shape.width;
  for (int channel = 0; channel < run.c.shape.channels; ++channel) {
    const auto at = static_cast<std::size_t>(channel);
    for (const std::vector<std::size_t>& group : groups_of(run.c, channel, statistics)) {
      std::vector<double> x;
      std::vector<double> dy;
      for (const std::size_t i : group) {
        x.push_back(double{run.x[i]});
        dy.push_back(double{run.dy[i]});
      }
      const auto reference =
          reference::batch_norm(x, dy, double{scale[at]}, double{shift[at]}, double{1e-5f}, relu);
      for (std::size_t k = 0; k < group.size(); ++k) {
        expected.y[group[k]] = static_cast<float>(reference.y[k]);
        expected.dx[group[k]] = static_cast<float>(reference.dx[k]);
      }
      const double share = static_cast<double>(group.size()) / values;
      expected.tensors["bn1.weight"][at] += static_cast<float>(reference.d_scale);
      expected.tensors["bn1.bias"][at] += static_cast<float>(reference.d_shift);
      expected.tensors["bn1.running_mean"][at] += static_cast<float>(reference.mean * share);
      expected.tensors["bn1.running_var"][at] +=
          static_cast<float>(reference.unbiased_variance * share);
    }
  }
}

TEST(BatchNorm, MatchesTheReferenceInEveryLayoutAndLeavesEmptyRowsOut) {
  for (const Case& c : cases())
    for (const Statistics statistics : {Statistics::global, Statistics::block})
      for (const bool relu : {false, true}) {
        SCOPED_TRACE(c.name() + (relu ? ", relu" : "") +
                     (statistics == Statistics::block ? ", block" : ""));
        Bench run(c, spec_of(statistics), relu);
        const Result result = run();
        Result expected;
        expected.y.assign(c.values(), 0.0f);  // empty rows: zeros
        expected.dx.assign(c.values(), 0.0f);
        for (const auto& [name, values] : result.tensors)
          expected.tensors[name].assign(values.size(), 0.0f);
        add_reference(run, statistics, relu, expected);
        // Values beside a large mean carry its rounding.
        const double tolerance = std::abs(c.mean) > 10 ? 2e-4 : 1e-5;
        expect_near(result.y, expected.y, tolerance, "y");
        expect_near(result.dx, expected.dx, tolerance, "dx");
        for (const auto& [name, values] : expected.tensors)
          expect_near(result.tensors.at(name), values, tolerance, name);
      }
}

// x^2 - mean^2 in float would leave nothing of a variance of 1/3 beside a mean of 1000.
TEST(BatchNorm, SeesSmallDeviationsBesideALargeMean) {
  const Case c{{2, 5, 5}, Layout::nchw16n, {64, 16, 16}, 1000.0f};
  Bench run(c, spec_of(Statistics::global), false);
  const Result result = run();
  for (const float variance : result.tensors.at("bn1.running_var"))
    EXPECT_NEAR(variance, 1.0 / 3, 0.02);
}

TEST(BatchNorm, LeavesNoTraceBetweenTensors) {
  for (const Statistics statistics : {Statistics::global, Statistics::block}) {
    const Case c{{5, 3, 3}, Layout::nchw16n, {5, 2, 16}};
    Bench run(c, spec_of(statistics), false);
    test::expect_no_trace_between_tensors(run);
  }
}

TEST(BatchNorm, EvaluatesWithRunningStatistics) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name());
    Bench run(c, spec_of(Statistics::block), true);
    run.step.mode = Mode::evaluate;
    run.layer.forward(ExecSpace(), run.step, run.arrays);
    ExecSpace().fence("test: read y");
    const std::vector<float> y = test::values_of(run.arrays.y);
    const std::vector<float> scale = run.parameter("bn1.weight");
    const std::vector<float> shift = run.parameter("bn1.bias");
    const std::vector<float> mean = run.parameter("bn1.running_mean");
    const std::vector<float> variance = run.parameter("bn1.running_var");
    std::vector<float> expected(c.values(), 0.0f);
    for (int channel = 0; channel < c.shape.channels; ++channel) {
      const auto groups = groups_of(c, channel, Statistics::global);
      for (const std::size_t i : groups[0]) {
        const auto at = static_cast<std::size_t>(channel);
        const double normalized =
            (double{run.x[i]} - double{mean[at]}) / std::sqrt(double{variance[at]} + 1e-5);
        expected[i] =
            static_cast<float>(std::max(0.0, normalized * double{scale[at]} + double{shift[at]}));
      }
    }
    expect_near(y, expected, 1e-5, "y");
  }
}

// As torch.nn.functional.batch_norm(training=False): mean and variance are constants.
TEST(BatchNorm, TrainsWithRunningStatisticsAsConstants) {
  for (const Case& c : cases())
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(c.name() + (relu ? ", relu" : ""));
      Bench run(c, spec_of(Statistics::running), relu);
      EXPECT_TRUE(run.layer.batch_sums().empty());
      EXPECT_EQ(run.layer.traits().least_samples, 1);
      for (const ParameterEntry& entry : run.table.entries())
        EXPECT_EQ(entry.average.momentum, 0) << entry.name;
      const Result result = run();
      const Values scale = run.parameter("bn1.weight");
      const Values shift = run.parameter("bn1.bias");
      const Values mean = run.parameter("bn1.running_mean");
      const Values variance = run.parameter("bn1.running_var");
      Values y(c.values(), 0.0f);
      Values dx(c.values(), 0.0f);
      Values d_scale(scale.size());
      Values d_shift(scale.size());
      for (int channel = 0; channel < c.shape.channels; ++channel) {
        const auto at = static_cast<std::size_t>(channel);
        const auto groups = groups_of(c, channel, Statistics::global);
        const double inverse_std = 1 / std::sqrt(double{variance[at]} + 1e-5);
        double with_x = 0;
        double sum = 0;
        for (const std::size_t i : groups[0]) {
          const double normalized = (double{run.x[i]} - double{mean[at]}) * inverse_std;
          const double value = normalized * double{scale[at]} + double{shift[at]};
          const bool is_cut = relu && value <= 0;
          const double d = is_cut ? 0 : double{run.dy[i]};
          y[i] = static_cast<float>(is_cut ? 0 : value);
          dx[i] = static_cast<float>(d * double{scale[at]} * inverse_std);
          with_x += d * normalized;
          sum += d;
        }
        d_scale[at] = static_cast<float>(with_x);
        d_shift[at] = static_cast<float>(sum);
      }
      expect_near(result.y, y, 1e-5, "y");
      expect_near(result.dx, dx, 1e-5, "dx");
      expect_near(result.tensors.at("bn1.weight"), d_scale, 1e-5, "weight");
      expect_near(result.tensors.at("bn1.bias"), d_shift, 1e-5, "bias");
    }
}

/// What an array holds, as it lies in memory.
Values stored(const Activation& a) {
  Values values = test::to_vector(a.data);
  values.resize(static_cast<std::size_t>(a.size()));
  return values;
}

/// The same activation in bfloat16.
Activation in_bfloat16(const Activation& floats) {
  Activation rounded =
      allocate_activation("test::rounded", floats.shape, Layout::nchw16n_bf16, floats.rows);
  Values values = test::stored_as_bf16(stored(floats));
  values.resize(rounded.data.extent(0));
  Kokkos::deep_copy(rounded.data, test::to_view(values));
  return rounded;
}

// With and without a ReLU, and with a sum behind it: in bf16 it computes what it computes in fp32
// from values that are rounded, wherever they are rounded, and rounds y and dx if they are to be.
TEST(BatchNorm, ReadsAndWritesImagesInBfloat16) {
  if (runs_device_kernels()) GTEST_SKIP() << "images in bfloat16 are for CPUs";
  for (const Case& c : cases()) {
    if (c.shape.height * c.shape.width == 1) continue;
    for (const bool relu : {false, true}) {
      for (const bool adds : {false, true}) {
        SCOPED_TRACE(c.name() + (relu ? ", relu" : "") + (adds ? ", sum" : ""));
        LayerSetup setup;
        setup.with_relu = relu && !adds;
        setup.with_add = adds;
        setup.with_relu_of_sum = relu && adds;
        const auto prepare = [&](Bench& bench) {
          bench.layer.set_up(setup);
          if (adds)
            bench.arrays.addend = test::make_activation(c.shape, c.layout, c.batch.rows(), bench.x);
        };
        Bench in_fp32(c, spec_of(Statistics::global), relu);
        prepare(in_fp32);
        test::set_values(in_fp32.arrays.x, test::rounded(in_fp32.x));
        test::set_values(in_fp32.arrays.dy, test::rounded(in_fp32.dy));
        const Result expected = in_fp32();
        for (const OperandPrecision precision :
             {OperandPrecision::bf16, OperandPrecision::bf16_pairs}) {
          for (const bool rounded_x : {false, true}) {
            for (const bool rounded_dy : {false, true}) {
              Bench bench(c, spec_of(Statistics::global), relu, {precision});
              prepare(bench);
              const LayerTraits traits = bench.layer.traits();
              ASSERT_TRUE(traits.reads_rounded_input && traits.reads_rounded_gradient);
              ASSERT_TRUE(traits.writes_rounded_output && traits.writes_rounded_gradient);
              if (rounded_x) bench.arrays.x = in_bfloat16(bench.arrays.x);
              if (rounded_dy) bench.arrays.dy = in_bfloat16(bench.arrays.dy);
              const Result actual = bench();
              EXPECT_EQ(test::bits_of(actual.y), test::bits_of(expected.y));
              EXPECT_EQ(test::bits_of(actual.dx), test::bits_of(expected.dx));
              EXPECT_EQ(actual.tensors, expected.tensors);
              bench.arrays.y = in_bfloat16(bench.arrays.y);
              bench.arrays.dx = rounded_dy ? bench.arrays.dy : in_bfloat16(bench.arrays.dx);
              bench.layer.forward(ExecSpace(), bench.step, bench.arrays);
              bench.layer.backward(ExecSpace(), bench.step, bench.arrays);
              ExecSpace().fence("test: read results");
              EXPECT_EQ(test::bits_of(stored(bench.arrays.y)),
                        test::bits_of(test::stored_as_bf16(stored(in_fp32.arrays.y))));
              EXPECT_EQ(test::bits_of(stored(bench.arrays.dx)),
                        test::bits_of(test::stored_as_bf16(stored(in_fp32.arrays.dx))));
            }
          }
        }
      }
    }
  }
}

TEST(BatchNorm, DerivativesMatchDifferences) {
  for (const Statistics statistics : {Statistics::global, Statistics::block})
    for (const Shape& shape : {Shape{3, 4, 5}, Shape{67}}) {
      BatchNorm layer(spec_of(statistics), shape);
      test::GradientCheck check;
      check.batch = {7, 3, 16};
      check.batch.samples = 9;
      check.step = 4e-3;
      test::check_layer_gradients(layer, check);
    }
}

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
TEST(BatchNorm, DeviceKernelsHaveTheHostsBits) {
  const bool before = runs_device_kernels();
  for (const Case& c : cases())
    for (const Statistics statistics : {Statistics::global, Statistics::block, Statistics::running})
      for (const bool relu : {false, true}) {
        SCOPED_TRACE(c.name());
        Case same = c;
        choose_device_kernels(false);
        Bench host_run(same, spec_of(statistics), relu);
        const Result host = host_run();
        choose_device_kernels(true);
        if (same.layout != Layout::nchw16n) same.layout = flat_layout();
        Bench device_run(same, spec_of(statistics), relu);
        const Result device = device_run();
        EXPECT_EQ(device.y, host.y);
        EXPECT_EQ(device.dx, host.dx);
        EXPECT_EQ(device.tensors, host.tensors);
      }
  choose_device_kernels(before);
}
#endif

}  // namespace
}  // namespace quern

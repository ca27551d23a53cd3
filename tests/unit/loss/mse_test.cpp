// SPDX-License-Identifier: Apache-2.0
#include "loss/mse.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "loss/reference/mse.hpp"
#include "support/gradient_check.hpp"
#include "support/random_values.hpp"
#include "unit/loss/loss_bench.hpp"

namespace quern {
namespace {

using test::LossMode;

struct Bench {
  std::vector<float> predictions;
  std::vector<float> wanted;
  Activation x;
  LossTarget target;
};

Bench make_bench(const test::TestBatch& batch, const Shape& shape, Layout layout) {
  const auto count = static_cast<std::size_t>(batch.rows() * shape.units());
  Bench bench;
  bench.predictions = test::random_values(count, 1);
  bench.wanted = test::random_values(count, 2);
  bench.x = test::make_activation(shape, layout, batch.rows(), bench.predictions, 900);
  bench.target.values = test::make_activation(shape, layout, batch.rows(), bench.wanted, -900);
  return bench;
}

void expect_matches_reference(const test::TestBatch& batch, const Shape& shape, Layout layout) {
  SCOPED_TRACE(std::to_string(batch.samples) + " samples, " + to_string(shape));
  Mse loss(shape);
  const Bench bench = make_bench(batch, shape, layout);
  const test::LossResult result = test::run_loss(loss, batch, bench.x, bench.target);
  const std::vector<std::int64_t> samples = test::sample_of_row(batch);
  for (int s = 0; s < batch.rows(); ++s) {
    const auto row = static_cast<std::size_t>(s);
    const std::vector<float> dx = test::sample_of(result.d_prediction, shape.units(), s);
    EXPECT_EQ(result.row_values[2 * row + 1], 0);
    if (samples[row] < 0) {
      EXPECT_EQ(dx, std::vector<float>(dx.size(), 0.0f));
      EXPECT_EQ(result.row_values[2 * row], 0);
      continue;
    }
    const std::vector<float> floats = test::sample_of(bench.predictions, shape.units(), s);
    const std::vector<float> wanted = test::sample_of(bench.wanted, shape.units(), s);
    const std::vector<double> x(floats.begin(), floats.end());
    const std::vector<double> t(wanted.begin(), wanted.end());
    EXPECT_NEAR(result.row_values[2 * row], reference::mse(x, t), 1e-6);
    const std::vector<double> gradient = reference::mse_backward(x, t);
    for (std::size_t u = 0; u < dx.size(); ++u)
      EXPECT_NEAR(double{dx[u]} * batch.samples, gradient[u], 1e-6);
  }
  EXPECT_EQ(result.d_padding, 0);
  EXPECT_EQ(result.sums, test::expected_sums(batch, result.row_values));
}

TEST(Mse, MatchesTheReferenceOnOddSizesInAllLayouts) {
  for (const int units : {1, 3, 16, 17, 33, 257}) {
    for (const Layout layout : test::flat_layouts()) {
      expect_matches_reference({1, 1, 1}, {units}, layout);
      expect_matches_reference({17, 3, 3}, {units}, layout);
      expect_matches_reference({33, 4, 16}, {units}, layout);
    }
    expect_matches_reference({33, 4, 16}, {units}, Layout::nchw16n);
  }
  expect_matches_reference({17, 16, 16}, {2, 3, 5}, Layout::nchw16n);
}

TEST(Mse, ReferenceDerivativeMatchesDifferences) {
  const std::vector<double> x = {0.3, -1.2, 2.0};
  const std::vector<double> t = {0.1, 0.2, 0.3};
  const auto gradient = reference::mse_backward(x, t);
  const auto numeric = test::central_differences(
      [&](const std::vector<double>& at) { return reference::mse(at, t); }, x);
  for (std::size_t u = 0; u < 3; ++u) EXPECT_NEAR(gradient[u], numeric[u], 1e-9);
}

// torch.nn.MSELoss()(x, t) is the mean over all elements, not over samples.
TEST(Mse, GradientIsThatOfTheMeanOverAllElements) {
  Mse loss({2});
  const test::TestBatch batch{2, 2, 2};
  LossTarget target;
  target.values = test::make_activation({2}, Layout::nc, 2, {0, 0, 0, 0});
  const Activation x = test::make_activation({2}, Layout::nc, 2, {1, 2, 3, 4});
  const test::LossResult result = test::run_loss(loss, batch, x, target);
  EXPECT_EQ(result.row_values, (std::vector<float>{2.5f, 0, 12.5f, 0}));
  EXPECT_EQ(result.d_prediction, (std::vector<float>{0.5f, 1, 1.5f, 2}));
}

TEST(Mse, EvaluationGivesTheSameValuesWithoutAGradient) {
  for (const Layout layout : test::all_layouts()) {
    const test::TestBatch batch{33, 4, 16};
    Mse loss({33});
    const Bench bench = make_bench(batch, {33}, layout);
    const test::LossResult train = test::run_loss(loss, batch, bench.x, bench.target);
    const test::LossResult evaluation =
        test::run_loss(loss, batch, bench.x, bench.target, LossMode::evaluate);
    EXPECT_EQ(train.row_values, evaluation.row_values);
    EXPECT_EQ(train.sums, evaluation.sums);
  }
}

// The derivative of a ReLU in front of the loss is 0 where the ReLU put out 0, else 1.
TEST(Mse, AfterAReluTheGradientIsThatBeforeIt) {
  for (const int units : {1, 16, 33}) {
    for (const Layout layout : test::all_layouts()) {
      SCOPED_TRACE(units);
      const test::TestBatch batch{33, 4, 16};
      Bench bench = make_bench(batch, {units}, layout);
      for (std::size_t i = 0; i < bench.predictions.size(); ++i)
        if (i % 3 == 0) bench.predictions[i] = 0;
      bench.x = test::make_activation({units}, layout, batch.rows(), bench.predictions, 900);
      Mse plain({units});
      Mse after_relu({units});
      ASSERT_TRUE(after_relu.applies_input_relu());
      after_relu.apply_input_relu();
      const test::LossResult all = test::run_loss(plain, batch, bench.x, bench.target);
      const test::LossResult result = test::run_loss(after_relu, batch, bench.x, bench.target);
      EXPECT_EQ(result.row_values, all.row_values);
      EXPECT_EQ(result.sums, all.sums);
      EXPECT_EQ(result.d_padding, 0);
      std::vector<float> expected = all.d_prediction;
      for (std::size_t i = 0; i < expected.size(); ++i)
        if (bench.predictions[i] <= 0) expected[i] = 0;
      EXPECT_EQ(result.d_prediction, expected);
      EXPECT_NE(result.d_prediction, all.d_prediction);
    }
  }
}

TEST(Mse, TheGradientMayTakeThePlaceOfThePrediction) {
  for (const int units : {1, 16, 33}) {
    for (const Layout layout : test::all_layouts()) {
      for (const bool after_relu : {false, true}) {
        SCOPED_TRACE(std::to_string(units) + (after_relu ? ", relu" : ""));
        Mse loss({units});
        EXPECT_EQ(loss.overwrites_prediction(), !runs_device_kernels());
        if (!loss.overwrites_prediction()) continue;
        if (after_relu) loss.apply_input_relu();
        const test::TestBatch batch{33, 4, 16};
        const Bench bench = make_bench(batch, {units}, layout);
        const test::LossResult apart = test::run_loss(loss, batch, bench.x, bench.target);
        const test::LossResult result =
            test::run_loss(loss, batch, bench.x, bench.target, LossMode::train_in_place);
        EXPECT_EQ(result.d_prediction, apart.d_prediction);
        EXPECT_EQ(result.d_padding, 0);
        EXPECT_EQ(result.row_values, apart.row_values);
        EXPECT_EQ(result.sums, apart.sums);
      }
    }
  }
}

TEST(Mse, ATargetOfAnotherShapeIsRefused) {
  Mse loss({2});
  LossTarget target;
  target.values = test::filled_activation({3}, Layout::nc, 2, 0);
  EXPECT_THROW(
      test::run_loss(loss, {2, 2, 2}, test::filled_activation({2}, Layout::nc, 2, 0), target),
      std::exception);
}

TEST(Mse, TheFactoryMakesWhatTheSpecSays) {
  LossSpec spec;
  EXPECT_EQ(make_loss(spec, {10})->input_layout(Layout::nchw16n), flat_layout());
  spec.type = LossType::mse;
  EXPECT_EQ(make_loss(spec, {10})->input_layout(Layout::nchw16n), Layout::nchw16n);
}

}  // namespace
}  // namespace quern

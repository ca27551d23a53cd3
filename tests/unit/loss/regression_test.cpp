// SPDX-License-Identifier: Apache-2.0
#include "loss/regression.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "loss/error_function.hpp"
#include "loss/reference/regression.hpp"
#include "spec/words.hpp"
#include "support/gradient_check.hpp"
#include "support/random_values.hpp"
#include "unit/loss/loss_bench.hpp"

namespace quern {
namespace {

using test::LossMode;

void expect_matches_reference(const LossSpec& spec, const test::TestBatch& batch,
                              const Shape& shape, Layout layout) {
  SCOPED_TRACE(test::name_of(spec) + ", " + std::to_string(batch.samples) + " samples, " +
               to_string(shape));
  RegressionLoss loss(spec, shape);
  test::expect_rows_match(
      loss, batch, test::make_values_bench(batch, shape, layout),
      [&](const auto& x, const auto& t) { return reference::regression(spec, x, t); },
      [&](const auto& x, const auto& t) { return reference::regression_backward(spec, x, t); },
      [](const auto&, const auto&) { return 0; }, 1e-6);
}

TEST(Regression, MatchesTheReferenceOnOddSizesInAllLayouts) {
  for (const LossSpec& spec : test::regression_losses()) {
    for (const int units : {1, 3, 16, 17, 33, 257}) {
      for (const Layout layout : test::flat_layouts()) {
        expect_matches_reference(spec, {1, 1, 1}, {units}, layout);
        expect_matches_reference(spec, {17, 3, 3}, {units}, layout);
        expect_matches_reference(spec, {33, 4, 16}, {units}, layout);
      }
      expect_matches_reference(spec, {33, 4, 16}, {units}, Layout::nchw16n);
    }
    expect_matches_reference(spec, {17, 16, 16}, {2, 3, 5}, Layout::nchw16n);
  }
}

TEST(Regression, TestsHaveEveryErrorFunction) {
  for (const auto& [word, type] : words_of<LossType>()) {
    if (type == LossType::custom) continue;
    const LossSpec spec{.type = type};
    const bool is_regression = dynamic_cast<RegressionLoss*>(make_loss(spec, {4}).get()) != nullptr;
    const auto losses = test::regression_losses();
    const bool is_tested = std::ranges::find(losses, type, &LossSpec::type) != losses.end();
    EXPECT_EQ(is_regression, is_tested) << word;
    if (!is_regression) {
      EXPECT_THROW(reference::regression_cost(spec, 1.0), Error) << word;
      EXPECT_THROW(reference::regression_slope(spec, 1.0), Error) << word;
      EXPECT_THROW(with_error_function(spec, [](const auto&) {}), Error) << word;
    }
  }
}

TEST(Regression, ReferenceDerivativeMatchesDifferences) {
  const std::vector<double> x = {0.3, -1.2, 2.0, 0.5};
  const std::vector<double> t = {0.1, 0.2, 0.3, 0.6};
  for (const LossSpec& spec : test::regression_losses()) {
    SCOPED_TRACE(test::name_of(spec));
    const auto gradient = reference::regression_backward(spec, x, t);
    const auto numeric = test::central_differences(
        [&](const std::vector<double>& at) { return reference::regression(spec, at, t); }, x);
    for (std::size_t u = 0; u < x.size(); ++u) EXPECT_NEAR(gradient[u], numeric[u], 1e-9);
  }
}

/// The result of one sample, which is to predict zeros, in a batch of 16 rows.
test::LossResult result_of(const LossSpec& spec, Layout layout, std::vector<float> predictions) {
  const test::TestBatch batch{1, 1, 16};
  const Shape shape{static_cast<int>(predictions.size())};
  predictions.resize(static_cast<std::size_t>(shape.units() * batch.rows()));
  LossTarget target;
  target.values = test::filled_activation(shape, layout, batch.rows(), 0);
  RegressionLoss loss(spec, shape);
  const Activation x = test::make_activation(shape, layout, batch.rows(), predictions);
  return test::run_loss(loss, batch, x, target);
}

// As torch.nn.L1Loss() and HuberLoss(delta=2): at 0 and at delta, and beyond it.
TEST(Regression, ErrorsOnTheEdges) {
  const std::vector<float> errors = {0, 2, -2, 3, -3, 0.5f};
  const float sixth = 1.0f / 6;
  for (const Layout layout : test::all_layouts()) {
    const test::LossResult l1 = result_of({.type = LossType::l1}, layout, errors);
    EXPECT_EQ(l1.row_values[0], 10.5f / 6);
    EXPECT_EQ(test::sample_of(l1.d_prediction, 6, 0),
              (std::vector<float>{0, sixth, -sixth, sixth, -sixth, sixth}));
    const test::LossResult huber = result_of({.type = LossType::huber, .delta = 2}, layout, errors);
    EXPECT_EQ(huber.row_values[0], (2 + 2 + 4 + 4 + 0.125f) / 6);
    EXPECT_EQ(test::sample_of(huber.d_prediction, 6, 0),
              (std::vector<float>{0, 2 * sixth, -2 * sixth, 2 * sixth, -2 * sixth, 0.5f * sixth}));
  }
}

// Training ends where the loss is no number, and looks for the layer by its gradients.
TEST(Regression, WhatIsNoNumberStaysSo) {
  for (const LossSpec& spec : test::regression_losses()) {
    for (const Layout layout : test::all_layouts()) {
      const test::LossResult nan = result_of(spec, layout, {1, std::nanf("")});
      EXPECT_TRUE(std::isnan(nan.row_values[0]));
      EXPECT_TRUE(std::isnan(nan.d_prediction[1]));
      for (const float infinity : {INFINITY, -INFINITY})
        EXPECT_EQ(result_of(spec, layout, {1, infinity}).row_values[0], INFINITY);
    }
  }
}

// torch.nn.MSELoss()(x, t) is the mean over all elements, not over samples.
TEST(Regression, GradientIsThatOfTheMeanOverAllElements) {
  RegressionLoss loss({.type = LossType::mse}, {2});
  const test::TestBatch batch{2, 2, 2};
  LossTarget target;
  target.values = test::make_activation({2}, Layout::nc, 2, {0, 0, 0, 0});
  const Activation x = test::make_activation({2}, Layout::nc, 2, {1, 2, 3, 4});
  const test::LossResult result = test::run_loss(loss, batch, x, target);
  EXPECT_EQ(result.row_values, (std::vector<float>{2.5f, 0, 12.5f, 0}));
  EXPECT_EQ(result.d_prediction, (std::vector<float>{0.5f, 1, 1.5f, 2}));
}

TEST(Regression, EvaluationGivesTheSameValuesWithoutAGradient) {
  for (const LossSpec& spec : test::regression_losses()) {
    for (const Layout layout : test::all_layouts()) {
      const test::TestBatch batch{33, 4, 16};
      RegressionLoss loss(spec, {33});
      const test::ValuesBench bench = test::make_values_bench(batch, {33}, layout);
      const test::LossResult train = test::run_loss(loss, batch, bench.x, bench.target);
      const test::LossResult evaluation =
          test::run_loss(loss, batch, bench.x, bench.target, LossMode::evaluate);
      EXPECT_EQ(train.row_values, evaluation.row_values);
      EXPECT_EQ(train.sums, evaluation.sums);
    }
  }
}

// The derivative of a ReLU in front of the loss is 0 where the ReLU put out 0, else 1.
TEST(Regression, AfterAReluTheGradientIsThatBeforeIt) {
  for (const LossSpec& spec : test::regression_losses()) {
    for (const int units : {1, 16, 33}) {
      for (const Layout layout : test::all_layouts()) {
        SCOPED_TRACE(test::name_of(spec) + ", " + std::to_string(units));
        const test::TestBatch batch{33, 4, 16};
        test::ValuesBench bench = test::make_values_bench(batch, {units}, layout);
        for (std::size_t i = 0; i < bench.predictions.size(); ++i)
          if (i % 3 == 0) bench.predictions[i] = 0;
        bench.x = test::make_activation({units}, layout, batch.rows(), bench.predictions, 900);
        RegressionLoss plain(spec, {units});
        RegressionLoss after_relu(spec, {units});
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
}

TEST(Regression, TheGradientMayTakeThePlaceOfThePrediction) {
  for (const LossSpec& spec : test::regression_losses()) {
    for (const int units : {1, 16, 33}) {
      for (const Layout layout : test::all_layouts()) {
        for (const bool after_relu : {false, true}) {
          SCOPED_TRACE(test::name_of(spec) + ", " + std::to_string(units) +
                       (after_relu ? ", relu" : ""));
          RegressionLoss loss(spec, {units});
          EXPECT_EQ(loss.overwrites_prediction(), !runs_device_kernels());
          if (!loss.overwrites_prediction()) continue;
          if (after_relu) loss.apply_input_relu();
          const test::TestBatch batch{33, 4, 16};
          const test::ValuesBench bench = test::make_values_bench(batch, {units}, layout);
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
}

TEST(Regression, ATargetOfAnotherShapeIsRefused) {
  RegressionLoss loss({.type = LossType::mse}, {2});
  LossTarget target;
  target.values = test::filled_activation({3}, Layout::nc, 2, 0);
  EXPECT_THROW(
      test::run_loss(loss, {2, 2, 2}, test::filled_activation({2}, Layout::nc, 2, 0), target),
      std::exception);
}

TEST(Regression, TheFactoryMakesWhatTheSpecSays) {
  LossSpec spec;
  EXPECT_EQ(make_loss(spec, {10})->input_layout(Layout::nchw16n), flat_layout());
  for (const LossSpec& loss : test::regression_losses())
    EXPECT_EQ(make_loss(loss, {10})->input_layout(Layout::nchw16n), Layout::nchw16n);
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "loss/binary_cross_entropy.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "loss/reference/binary_cross_entropy.hpp"
#include "support/gradient_check.hpp"
#include "support/random_values.hpp"
#include "unit/loss/loss_bench.hpp"

namespace quern {
namespace {

using test::LossMode;

// Probabilities, and logits on both sides of where the sigmoid bends.
test::ValuesBench make_bench(const test::TestBatch& batch, const Shape& shape, Layout layout) {
  return test::make_values_bench(batch, shape, layout, {-6, 6}, {0, 1});
}

void expect_matches_reference(const test::TestBatch& batch, const Shape& shape, Layout layout,
                              double w = 1) {
  SCOPED_TRACE(std::to_string(batch.samples) + " samples, " + to_string(shape));
  BinaryCrossEntropy loss(shape, w);
  test::expect_rows_match(
      loss, batch, make_bench(batch, shape, layout),
      [w](const auto& x, const auto& t) { return reference::binary_cross_entropy(x, t, w); },
      [w](const auto& x, const auto& t) {
        return reference::binary_cross_entropy_backward(x, t, w);
      },
      [](const auto& x, const auto& t) { return reference::right_answers(x, t); }, 2e-6);
}

TEST(BinaryCrossEntropy, MatchesTheReferenceOnOddSizesInAllLayouts) {
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

TEST(BinaryCrossEntropy, WeighsWhatShouldBeYes) {
  for (const double w : {0.25, 7.0}) {
    for (const Layout layout : test::all_layouts())
      expect_matches_reference({33, 4, 16}, {33}, layout, w);
    expect_matches_reference({17, 16, 16}, {2, 3, 5}, Layout::nchw16n, w);
  }
}

TEST(BinaryCrossEntropy, ReferenceDerivativeMatchesDifferences) {
  const std::vector<double> x = {0.3, -1.2, 2.0, 0.5};
  const std::vector<double> t = {0, 0.2, 1, 0.6};
  for (const double w : {1.0, 3.0}) {
    const auto gradient = reference::binary_cross_entropy_backward(x, t, w);
    const auto numeric = test::central_differences(
        [&](const std::vector<double>& at) { return reference::binary_cross_entropy(at, t, w); },
        x);
    for (std::size_t u = 0; u < x.size(); ++u) EXPECT_NEAR(gradient[u], numeric[u], 1e-9);
  }
}

// x = torch.tensor([[100., -100., 0.5, -90.]], requires_grad=True)
// l = torch.nn.BCEWithLogitsLoss()(x, torch.tensor([[1., 1., 0.25, 0.]])); l.backward()
TEST(BinaryCrossEntropy, AgreesWithPyTorchExtremesIncluded) {
  for (const Layout layout : test::all_layouts()) {
    const test::TestBatch batch{1, 1, 16};
    std::vector<float> x = {100, -100, 0.5f, -90};
    std::vector<float> t = {1, 1, 0.25f, 0};
    x.resize(64);
    t.resize(64);
    BinaryCrossEntropy loss({4});
    LossTarget target;
    target.values = test::make_activation({4}, layout, 16, t);
    const test::LossResult result =
        test::run_loss(loss, batch, test::make_activation({4}, layout, 16, x), target);
    EXPECT_NEAR(result.row_values[0], 25.2122688f, 1e-5);
    const std::vector<float> dx = test::sample_of(result.d_prediction, 4, 0);
    const std::vector<float> expected = {0, -0.25f, 0.0931148306f, 0};
    for (std::size_t u = 0; u < 4; ++u) EXPECT_NEAR(dx[u], expected[u], 1e-7);
    // With pos_weight=torch.tensor(3.).
    BinaryCrossEntropy weighted({4}, 3);
    const test::LossResult three =
        test::run_loss(weighted, batch, test::make_activation({4}, layout, 16, x), target);
    EXPECT_NEAR(three.row_values[0], 75.2715302f, 1e-5);
    const std::vector<float> dx3 = test::sample_of(three.d_prediction, 4, 0);
    const std::vector<float> expected3 = {0, -0.75f, 0.0459222496f, 0};
    for (std::size_t u = 0; u < 4; ++u) EXPECT_NEAR(dx3[u], expected3[u], 1e-7);
  }
}

TEST(BinaryCrossEntropy, OneHalfIsNo) {
  for (const Layout layout : test::all_layouts()) {
    BinaryCrossEntropy loss({3});
    EXPECT_EQ(loss.answers_per_sample(), 3);
    std::vector<float> x = {0, 1, 0};
    std::vector<float> t = {0.5f, 0.5f, 0.75f};
    x.resize(48);
    t.resize(48);
    LossTarget target;
    target.values = test::make_activation({3}, layout, 16, t);
    const Activation prediction = test::make_activation({3}, layout, 16, x);
    EXPECT_EQ(test::run_loss(loss, {1, 1, 16}, prediction, target).row_values[Loss::kCorrect], 1);
  }
}

TEST(BinaryCrossEntropy, WhatIsNoNumberStaysSo) {
  for (const Layout layout : test::all_layouts()) {
    std::vector<float> x(48, 1.0f);
    x[1] = std::nanf("");
    BinaryCrossEntropy loss({3});
    LossTarget target;
    target.values = test::filled_activation({3}, layout, 16, 1);
    const test::LossResult result =
        test::run_loss(loss, {1, 1, 16}, test::make_activation({3}, layout, 16, x), target);
    EXPECT_TRUE(std::isnan(result.row_values[0]));
    EXPECT_TRUE(std::isnan(result.d_prediction[1]));
  }
}

TEST(BinaryCrossEntropy, EvaluationGivesTheSameValuesWithoutAGradient) {
  for (const Layout layout : test::all_layouts()) {
    const test::TestBatch batch{33, 4, 16};
    BinaryCrossEntropy loss({33});
    const test::ValuesBench bench = make_bench(batch, {33}, layout);
    const test::LossResult train = test::run_loss(loss, batch, bench.x, bench.target);
    const test::LossResult evaluation =
        test::run_loss(loss, batch, bench.x, bench.target, LossMode::evaluate);
    EXPECT_EQ(train.row_values, evaluation.row_values);
    EXPECT_EQ(train.sums, evaluation.sums);
  }
}

TEST(BinaryCrossEntropy, PredictionsAreProbabilities) {
  for (const Layout layout : test::all_layouts()) {
    const std::vector<float> x = test::random_values(16 * 21, 3, -8, 8);
    const Activation output = test::make_activation({21}, layout, 16, x);
    BinaryCrossEntropy({21}).put_predictions(ExecSpace(), output);
    ExecSpace().fence("test");
    const ActivationIndex at(output);
    for (int row = 0; row < 16; ++row) {
      for (int u = 0; u < 21; ++u) {
        const double expected =
            reference::sigmoid(double{x[static_cast<std::size_t>(row * 21 + u)]});
        EXPECT_NEAR(output.data(static_cast<std::size_t>(at(row, u))), expected, 2e-7);
      }
    }
  }
}

}  // namespace
}  // namespace quern

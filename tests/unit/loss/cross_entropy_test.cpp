// SPDX-License-Identifier: Apache-2.0
#include "loss/cross_entropy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "loss/reference/cross_entropy.hpp"
#include "support/gradient_check.hpp"
#include "support/random_values.hpp"
#include "unit/loss/loss_bench.hpp"

namespace quern {
namespace {

using test::LossMode;

LossTarget labels(const std::vector<std::int32_t>& values) {
  LossTarget target;
  target.labels = test::to_view(values);
  return target;
}

std::vector<std::int32_t> some_labels(int samples, int classes) {
  std::vector<std::int32_t> values;
  for (int i = 0; i < samples; ++i) values.push_back(i * 7 % classes);
  return values;
}

std::vector<double> some_weights(int classes) {
  std::vector<double> weights;
  for (int v = 0; v < classes; ++v) weights.push_back(0.25 * ((v * 5 + 3) % 9));  // one of 9 is 0
  return weights;
}

void expect_matches_reference(const test::TestBatch& batch, int classes, double smoothing = 0,
                              const std::vector<double>& weights = {}) {
  SCOPED_TRACE(std::to_string(batch.samples) + " samples, " + std::to_string(classes));
  CrossEntropy loss({classes}, smoothing, weights);
  const reference::TargetRule<double> rule{smoothing, weights};
  const std::vector<float> logits =
      test::random_values(static_cast<std::size_t>(batch.rows() * classes), 1, -5, 5);
  const std::vector<std::int32_t> wanted = some_labels(batch.samples, classes);
  const Activation x = test::make_activation({classes}, flat_layout(), batch.rows(), logits, 900);
  const test::LossResult result = test::run_loss(loss, batch, x, labels(wanted));

  const std::vector<std::int64_t> samples = test::sample_of_row(batch);
  for (int s = 0; s < batch.rows(); ++s) {
    const auto row = static_cast<std::size_t>(s);
    const std::vector<float> dx = test::sample_of(result.d_prediction, classes, s);
    if (samples[row] < 0) {
      EXPECT_EQ(dx, std::vector<float>(dx.size(), 0.0f));
      EXPECT_EQ(result.row_values[2 * row], 0);
      EXPECT_EQ(result.row_values[2 * row + 1], 0);
      continue;
    }
    const std::vector<float> floats = test::sample_of(logits, classes, s);
    const std::vector<double> exact(floats.begin(), floats.end());
    const std::size_t label = wanted[static_cast<std::size_t>(samples[row])];
    EXPECT_NEAR(result.row_values[2 * row], reference::cross_entropy(exact, label, rule),
                smoothing > 0 ? 5e-6 : 2e-6);  // a sum of up to 257 logits
    EXPECT_EQ(result.row_values[2 * row + 1], reference::is_correct(exact, label) ? 1 : 0);
    const std::vector<double> gradient = reference::cross_entropy_backward(exact, label, rule);
    for (std::size_t v = 0; v < dx.size(); ++v)
      EXPECT_NEAR(double{dx[v]} * batch.samples, gradient[v], 1e-6);
  }
  EXPECT_EQ(result.d_padding, 0);
  EXPECT_EQ(result.sums, test::expected_sums(batch, result.row_values));
}

TEST(CrossEntropy, MatchesTheReferenceOnOddSizes) {
  for (const int classes : {1, 3, 10, 17, 33, 257}) {
    expect_matches_reference({1, 1, 1}, classes);
    expect_matches_reference({17, 3, 3}, classes);
    expect_matches_reference({33, 4, 16}, classes);
  }
}

TEST(CrossEntropy, OfSmoothedLabelsMatchesTheReferenceOnOddSizes) {
  for (const double smoothing : {0.1, 0.7, 1.0}) {
    for (const int classes : {1, 3, 10, 33, 257}) {
      expect_matches_reference({17, 3, 3}, classes, smoothing);
      expect_matches_reference({33, 4, 16}, classes, smoothing);
    }
  }
}

TEST(CrossEntropy, OfWeightedClassesMatchesTheReferenceOnOddSizes) {
  for (const double smoothing : {0.0, 0.1}) {
    for (const int classes : {1, 3, 10, 33, 257}) {
      expect_matches_reference({17, 3, 3}, classes, smoothing, some_weights(classes));
      expect_matches_reference({33, 4, 16}, classes, smoothing, some_weights(classes));
    }
  }
}

TEST(CrossEntropy, OfWeightsOfOneHasTheBitsOfNone) {
  const test::TestBatch batch{33, 4, 16};
  const Activation x = test::make_activation(
      {10}, flat_layout(), batch.rows(),
      test::random_values(static_cast<std::size_t>(batch.rows() * 10), 1, -5, 5));
  CrossEntropy plain({10});
  CrossEntropy weighted({10}, 0, std::vector<double>(10, 1.0));
  const LossTarget target = labels(some_labels(33, 10));
  const test::LossResult without = test::run_loss(plain, batch, x, target);
  const test::LossResult with = test::run_loss(weighted, batch, x, target);
  EXPECT_EQ(with.row_values, without.row_values);
  EXPECT_EQ(with.d_prediction, without.d_prediction);
}

TEST(CrossEntropy, WeightsTakeThePlaceOfEarlierOnes) {
  const test::TestBatch batch{33, 4, 16};
  const Activation x = test::make_activation(
      {10}, flat_layout(), batch.rows(),
      test::random_values(static_cast<std::size_t>(batch.rows() * 10), 1, -5, 5));
  CrossEntropy expected({10}, 0.1, some_weights(10));
  CrossEntropy changed({10}, 0.1, std::vector<double>(10, 3.0));
  changed.set_class_weights(some_weights(10));
  const LossTarget target = labels(some_labels(33, 10));
  EXPECT_EQ(test::run_loss(changed, batch, x, target).row_values,
            test::run_loss(expected, batch, x, target).row_values);
}

TEST(CrossEntropy, ReferenceDerivativeMatchesDifferences) {
  const std::vector<double> logits = {0.3, -1.2, 2.0, 0.7};
  for (const reference::TargetRule<double>& rule :
       {reference::TargetRule<double>{}, {0.3, {}}, {0.0, {2, 0.5, 1, 3}}, {0.3, {2, 0.5, 1, 3}}}) {
    for (std::size_t label = 0; label < 4; ++label) {
      const auto gradient = reference::cross_entropy_backward(logits, label, rule);
      const auto numeric = test::central_differences(
          [&](const std::vector<double>& x) { return reference::cross_entropy(x, label, rule); },
          logits);
      for (std::size_t v = 0; v < 4; ++v) EXPECT_NEAR(gradient[v], numeric[v], 1e-9);
    }
  }
}

// x = torch.tensor([[1, -2, .5], [100, -100, 0], [3, 3, 1]], requires_grad=True)
// l = torch.nn.functional.cross_entropy(x, torch.tensor([2, 1, 1]), reduction="none",
//                                       label_smoothing=e, weight=w)
// l.mean().backward(); print(l, x.grad)
struct FromPyTorch {
  double e;
  std::vector<double> w;
  std::vector<float> losses;
  std::vector<float> gradients;
};

TEST(CrossEntropy, AgreesWithPyTorchExtremesIncluded) {
  const std::vector<FromPyTorch> cases = {
      {0,
       {},
       {1.00459695f, 200.0f, 0.75862366f},
       {0.201249644f, 0.0100196293f, -0.211269259f, 0.333333343f, -0.333333343f, 0.0f, 0.156103522f,
        -0.177229822f, 0.021126315f}},
      {0.3,
       {},
       {1.204596996f, 170.0f, 0.958623648f},
       {0.167916313f, -0.023313707f, -0.144602597f, 0.300000012f, -0.266666681f, -0.033333335f,
        0.122770183f, -0.110563166f, -0.012207019f}},
      {0,
       {0.5, 2, 1.25},
       {1.255746126f, 400.0f, 1.517247319f},
       {0.251562059f, 0.0125245368f, -0.2640865743f, 0.6666666865f, -0.6666666865f, 0.0f,
        0.3122070432f, -0.3544596434f, 0.04225263f}},
      {0.3,
       {0.5, 2, 1.25},
       {1.73074615f, 332.5f, 1.596556902f},
       {0.234895378f, -0.054142132f, -0.180753231f, 0.575000048f, -0.533333361f, -0.041666668f,
        0.260417074f, -0.256249607f, -0.004167457f}}};
  for (const FromPyTorch& expected : cases) {
    SCOPED_TRACE(std::to_string(expected.e) + (expected.w.empty() ? "" : ", weighted"));
    CrossEntropy loss({3}, expected.e, expected.w);
    const test::TestBatch batch{3, 3, 3};
    const Activation x =
        test::make_activation({3}, flat_layout(), 3, {1, -2, 0.5f, 100, -100, 0, 3, 3, 1});
    const test::LossResult result = test::run_loss(loss, batch, x, labels({2, 1, 1}));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(result.row_values[2 * i], expected.losses[i], 1e-6f * (1 + expected.losses[i]));
    for (std::size_t i = 0; i < 9; ++i)
      EXPECT_NEAR(result.d_prediction[i], expected.gradients[i], 1e-7);
  }
}

TEST(CrossEntropy, AsManyWeightsAsClassesAreNeeded) {
  EXPECT_THROW(CrossEntropy({3}, 0, {1, 2}), InputError);
  CrossEntropy loss({3});
  EXPECT_THROW(loss.set_class_weights({1, 2, 3, 4}), InputError);
  EXPECT_THROW(make_loss({.type = LossType::mse}, {3})->set_class_weights({1, 2, 3}), Error);
}

TEST(CrossEntropy, MoreClassesThanAByteCounts) {
  expect_matches_reference({5, 2, 16}, 700);
}

TEST(CrossEntropy, OfEqualMaximaTheFirstCounts) {
  CrossEntropy loss({3});
  const Activation x = test::make_activation({3}, flat_layout(), 2, {3, 3, 1, 3, 3, 1});
  const test::LossResult result = test::run_loss(loss, {2, 2, 2}, x, labels({0, 1}));
  EXPECT_EQ(result.row_values[1], 1);
  EXPECT_EQ(result.row_values[3], 0);
}

TEST(CrossEntropy, EvaluationGivesTheSameValuesWithoutAGradient) {
  CrossEntropy loss({10}, 0.1);
  const test::TestBatch batch{33, 4, 16};
  const Activation x = test::make_activation(
      {10}, flat_layout(), batch.rows(),
      test::random_values(static_cast<std::size_t>(batch.rows() * 10), 1, -5, 5));
  const LossTarget target = labels(some_labels(33, 10));
  const test::LossResult train = test::run_loss(loss, batch, x, target);
  const test::LossResult evaluation = test::run_loss(loss, batch, x, target, LossMode::evaluate);
  EXPECT_EQ(train.row_values, evaluation.row_values);
  EXPECT_EQ(train.sums, evaluation.sums);
}

TEST(CrossEntropy, ALabelBeyondTheClassesMakesTheLossNan) {
  for (const int label : {3, 255, 70000, -1}) {
    CrossEntropy loss({3});
    const Activation x = test::make_activation({3}, flat_layout(), 1, {1, 2, 3});
    const test::LossResult result = test::run_loss(loss, {1, 1, 1}, x, labels({label}));
    EXPECT_TRUE(std::isnan(result.row_values[0])) << label;
    EXPECT_EQ(result.row_values[1], 0);
    EXPECT_EQ(result.d_prediction, std::vector<float>(3, 0.0f));
  }
}

TEST(CrossEntropy, ALogitThatIsNotANumberMakesTheLossNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CrossEntropy loss({3});
  const Activation x = test::make_activation({3}, flat_layout(), 2, {nan, 1, 2, 1, 2, nan});
  const test::LossResult result = test::run_loss(loss, {2, 2, 2}, x, labels({1, 1}));
  EXPECT_TRUE(std::isnan(result.row_values[0]));
  EXPECT_TRUE(std::isnan(result.row_values[2]));
}

// A step that takes the rows in groups must not let them meet: each row alone gives its bits.
TEST(CrossEntropy, ARowAloneGivesTheSameBits) {
  for (const int classes : {10, 33}) {
    const int rows = 21;
    const std::vector<float> logits =
        test::random_values(static_cast<std::size_t>(rows * classes), 3, -9, 9);
    const std::vector<std::int32_t> wanted = some_labels(rows, classes);
    CrossEntropy loss({classes});
    const Activation x = test::make_activation({classes}, flat_layout(), rows, logits);
    const test::LossResult all = test::run_loss(loss, {rows, rows, rows}, x, labels(wanted));
    for (int s = 0; s < rows; ++s) {
      const auto row = static_cast<std::size_t>(s);
      const std::vector<float> floats = test::sample_of(logits, classes, s);
      const Activation one = test::make_activation({classes}, flat_layout(), 1, floats);
      const test::LossResult alone =
          test::run_loss(loss, {1, 1, 1}, one, labels({wanted[row]}), LossMode::evaluate);
      EXPECT_EQ(alone.row_values[0], all.row_values[2 * row]);
      EXPECT_EQ(alone.row_values[1], all.row_values[2 * row + 1]);
    }
  }
}

TEST(CrossEntropy, ImagesAreRefused) {
  EXPECT_THROW(CrossEntropy({10, 2, 2}), InputError);
}

}  // namespace
}  // namespace quern

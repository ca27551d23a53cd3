// SPDX-License-Identifier: Apache-2.0
#include "inference/prediction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/expect_error.hpp"

namespace quern {
namespace {

TEST(PredictionBatches, AreTheBatchOfEachRank) {
  const BatchRule rule = prediction_batches(10, 4, 95);
  EXPECT_EQ(rule.full_batch, 40);
  EXPECT_EQ(rule.last_batch, 15);
  EXPECT_EQ(rule.block_samples, 10);
  EXPECT_EQ(rule.steps_per_epoch(), 3);
}

TEST(PredictionBatches, AreNoLargerThanTheSet) {
  const BatchRule rule = prediction_batches(1 << 20, 4096, 7);
  EXPECT_EQ(rule.full_batch, 7);
  EXPECT_EQ(rule.last_batch, 7);
  EXPECT_EQ(rule.block_samples, 7);
}

TEST(PredictionBatches, OfTooManySamplesAreRefused) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  EXPECT_EQ(prediction_batches(1 << 20, 16, kMany).full_batch, 1 << 24);
  for (const int ranks : {17, 2048, 1 << 20}) {
    test::expect_error([&] { prediction_batches(1 << 20, ranks, kMany); }, ExitCode::bad_input,
                       {"1048576 samples", std::to_string(ranks) + " ranks", "16777216"});
  }
}

TEST(Prediction, IsTheLargestOutputAndItsShare) {
  const std::vector<float> outputs = {1, 3, 2};
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  const Prediction right = prediction_of(outputs, 1);
  EXPECT_EQ(right.best, 1);
  EXPECT_NEAR(right.probability, std::exp(3.0) / sum, 1e-12);
  EXPECT_NEAR(right.loss, -std::log(std::exp(3.0) / sum), 1e-12);
  EXPECT_NEAR(prediction_of(outputs, 0).loss, -std::log(std::exp(1.0) / sum), 1e-12);
  EXPECT_EQ(prediction_of(outputs, -1).loss, 0);
}

TEST(Prediction, LossIsThatOfSmoothedLabels) {
  const std::vector<float> outputs = {1, 3, 2};
  double expected = 0;
  for (const int v : {0, 1, 2})
    expected += (0.1 + (v == 0 ? 0.7 : 0)) * prediction_of(outputs, v).loss;
  EXPECT_NEAR(prediction_of(outputs, 0, {.label_smoothing = 0.3}).loss, expected, 1e-12);
}

// torch.nn.functional.cross_entropy(torch.tensor([[1., 3., 2.]]), torch.tensor([0]),
//     weight=torch.tensor([2., 0.5, 0.]), label_smoothing=0.3, reduction="none")
TEST(Prediction, LossIsThatOfWeightedClasses) {
  const std::vector<float> outputs = {1, 3, 2};
  const ClassWeightsSpec weights{ClassWeightsType::given, {2, 0.5, 0}};
  const LossSpec plain{.class_weights = weights};
  EXPECT_NEAR(prediction_of(outputs, 0, plain).loss, 2 * prediction_of(outputs, 0).loss, 1e-12);
  EXPECT_EQ(prediction_of(outputs, 2, plain).loss, 0);
  const LossSpec smoothed{.label_smoothing = 0.3, .class_weights = weights};
  EXPECT_NEAR(prediction_of(outputs, 0, smoothed).loss, 3.8725498413332278, 1e-12);
}

TEST(Prediction, ProbabilitiesAreTheSharesOfAllClasses) {
  const std::vector<float> outputs = {1, 3, 2};
  std::vector<float> probabilities(3);
  put_probabilities(outputs, probabilities);
  for (int v = 0; v < 3; ++v)
    EXPECT_NEAR(probabilities[static_cast<std::size_t>(v)],
                std::exp(-prediction_of(outputs, v).loss), 1e-7);
  EXPECT_EQ(probabilities[1], static_cast<float>(prediction_of(outputs, -1).probability));
  put_probabilities(std::vector<float>{1e30f, 1e30f, -1e30f}, probabilities);
  EXPECT_EQ(probabilities, (std::vector<float>{0.5, 0.5, 0}));
}

TEST(Prediction, OfEqualOutputsIsTheFirst) {
  EXPECT_EQ(prediction_of(std::vector<float>{1e30f, 1e30f}, -1).best, 0);
  EXPECT_EQ(prediction_of(std::vector<float>{1e30f, 1e30f}, -1).probability, 0.5);
}

}  // namespace
}  // namespace quern

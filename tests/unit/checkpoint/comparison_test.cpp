// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "checkpoint_fixture.hpp"

namespace quern {
namespace {

using test::SampleRun;

const TensorDifference& tensor_at(const Comparison& comparison, const std::string& path) {
  for (const TensorDifference& tensor : comparison.tensors) {
    if (tensor.path == path) return tensor;
  }
  throw Error("no " + path);
}

TEST(Comparison, EqualStatesHaveEveryTensorAndNoDifference) {
  SampleRun a;
  SampleRun b;
  const Comparison comparison = compare_checkpoints(a.state(), b.state());
  EXPECT_EQ(comparison.tensors.size(), 6u);
  EXPECT_TRUE(comparison.attributes.empty());
  EXPECT_TRUE(comparison.same_training_state());
}

TEST(Comparison, CountsDifferentElementsAndTheLargestDistance) {
  SampleRun a;
  SampleRun b;
  a.weight()[20] = 1.0f;
  b.weight()[20] = 3.5f;
  b.weight()[21] = a.weight()[21] + 0.25f;
  const Comparison comparison = compare_checkpoints(a.state(), b.state());
  EXPECT_EQ(tensor_at(comparison, "/model/fc1/weight").count, 2);
  EXPECT_EQ(tensor_at(comparison, "/model/fc1/weight").max_abs, 2.5);
  EXPECT_EQ(tensor_at(comparison, "/optimizer/exp_avg/fc1/weight").count, 0);
  EXPECT_FALSE(comparison.same_training_state());
}

TEST(Comparison, SignOfZeroAndNanPayloadCount) {
  SampleRun a;
  SampleRun b;
  b.weight()[0] = -0.0f;
  EXPECT_EQ(tensor_at(compare_checkpoints(a.state(), b.state()), "/model/fc1/weight").max_abs, 0);
  EXPECT_FALSE(compare_checkpoints(a.state(), b.state()).same_training_state());
  b.weight()[2] = std::bit_cast<float>(0x7fc00124u);
  const Comparison comparison = compare_checkpoints(a.state(), b.state());
  EXPECT_EQ(tensor_at(comparison, "/model/fc1/weight").count, 2);
  EXPECT_TRUE(std::isnan(tensor_at(comparison, "/model/fc1/weight").max_abs));
}

TEST(Comparison, MissingAndReshapedTensorsAreNamed) {
  SampleRun a;
  SampleRun b;
  a.state().optimizer.pop_back();
  b.state().model[0].shape = {6, 4};
  b.state().model.pop_back();
  const Comparison comparison = compare_checkpoints(a.state(), b.state());
  EXPECT_EQ(tensor_at(comparison, "/model/fc1/weight").shape, "[4, 6] and [6, 4]");
  EXPECT_EQ(tensor_at(comparison, "/model/fc1/bias").shape, "[4] only in the first");
  EXPECT_EQ(tensor_at(comparison, "/optimizer/exp_avg_sq/fc1/weight").shape,
            "[4, 6] only in the second");
  EXPECT_FALSE(comparison.same_training_state());
}

TEST(Comparison, ProgressCountsButTheOriginDoesNot) {
  SampleRun a;
  SampleRun b;
  b.state().origin.num_ranks = 7;
  Comparison comparison = compare_checkpoints(a.state(), b.state());
  ASSERT_EQ(comparison.attributes.size(), 1u);
  EXPECT_EQ(comparison.attributes[0].name, "ranks");
  EXPECT_EQ(comparison.attributes[0].second, "7");
  EXPECT_TRUE(comparison.same_training_state());

  b.state().progress.cursor += 1;
  comparison = compare_checkpoints(a.state(), b.state());
  EXPECT_EQ(comparison.attributes.size(), 2u);
  EXPECT_FALSE(comparison.same_training_state());
}

// They have lowered the learning rate of the steps to come.
TEST(Comparison, PlateausCount) {
  SampleRun a;
  SampleRun b;
  b.state().progress.plateaus = 1;
  b.state().progress.plateau_epoch = 2;
  const Comparison comparison = compare_checkpoints(a.state(), b.state());
  ASSERT_EQ(comparison.attributes.size(), 2u);
  EXPECT_EQ(comparison.attributes[0].name, "plateaus");
  EXPECT_EQ(comparison.attributes[0].first, "0");
  EXPECT_EQ(comparison.attributes[1].second, "2");
  EXPECT_FALSE(comparison.same_training_state());
}

TEST(Comparison, EachNumberOfTheProgressCounts) {
  const std::vector<std::function<void(TrainingProgress&)>> changes = {
      [](TrainingProgress& at) { at.step += 1; },
      [](TrainingProgress& at) { at.epoch += 1; },
      [](TrainingProgress& at) { at.cursor += 1; },
      [](TrainingProgress& at) { at.epoch_loss_sum += 1; },
      [](TrainingProgress& at) { at.epoch_correct += 1; },
      [](TrainingProgress& at) { at.epoch_samples += 1; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    SampleRun a;
    SampleRun b;
    changes[i](b.state().progress);
    EXPECT_FALSE(compare_checkpoints(a.state(), b.state()).same_training_state()) << i;
  }
}

}  // namespace
}  // namespace quern

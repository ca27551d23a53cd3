// SPDX-License-Identifier: Apache-2.0
#include "strategy/training_step.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "comm/agree.hpp"
#include "comm/serial/communicator.hpp"
#include "support/expect_error.hpp"
#include "support/failing_transport.hpp"
#include "support/train_samples.hpp"

namespace quern::test {

namespace {

constexpr const char* kAutoEncoder =
    "network.layers=[{type = \"flatten\"}, {type = \"relu\"}, {type = \"linear\", features = 36}]";

}  // namespace

TEST(TrainingStep, CountsStepsOfAnEpoch) {
  SerialCommunicator comm;
  for (const auto& [count, batch, steps] :
       std::vector<std::array<int, 3>>{{10, 4, 3}, {8, 4, 2}, {3, 4, 1}, {1, 1, 1}}) {
    const Samples samples = image_samples(count, kImage, 5);
    const Recipe recipe = image_recipe(batch);
    Model model(recipe);
    TrainingStep step(recipe, comm, model, samples);
    EXPECT_EQ(step.steps_per_epoch(), steps);
    EXPECT_EQ(step.full_batch().samples(), std::min(count, batch));
    int seen = 0;
    for (int i = 0; i < steps; ++i) {
      step.run(ExecSpace(), false);
      seen += step.batch().samples();
    }
    EXPECT_EQ(seen, count);
  }
}

TEST(TrainingStep, LooksAtExchangesBeforeTheQueueOfADeviceIsFull) {
  SerialCommunicator comm;
  const Samples samples = image_samples(1000, kImage, 5);
  const Recipe recipe = image_recipe(1);
  for (const bool fails : {false, true}) {
    FailingTransport transport(comm, fails ? 2 : 100);
    Model model(recipe);
    TrainingStep step(recipe, comm, model, samples, &transport);
    const int looks_before = transport.looks_left();
    int steps = 0;
    const auto run = [&] {
      for (; steps < 1000; ++steps) step.enqueue(ExecSpace(), false);
    };
    if (fails) {
      EXPECT_THROW(run(), AgreedError);
      EXPECT_LT(steps, 400);
    } else {
      run();
      EXPECT_LT(transport.looks_left(), looks_before - 5);
    }
  }
}

TEST(TrainingStep, ElementwiseFirstLayerLeavesTheAutoEncodersTargetAlone) {
  SerialCommunicator comm;
  const Samples samples = image_samples(6, kImage, 5);
  const Recipe recipe = image_recipe(6, {"loss.type=mse", "data.target=input", kAutoEncoder});
  Model model(recipe);
  TrainingStep step(recipe, comm, model, samples);
  Kokkos::deep_copy(model.parameters(), 0.0f);
  double expected = 0;
  for (const std::uint8_t pixel : to_vector(samples.images)) {
    expected += pixel / 255.0 * (pixel / 255.0) / 36;
  }
  EXPECT_NEAR(step.run(ExecSpace(), false).loss, expected, 1e-5 * expected);
}

TEST(TrainingStep, LossThatIsNotFiniteChangesNothing) {
  SerialCommunicator comm;
  const Samples samples = image_samples(10, kImage, 5);
  const Recipe recipe = image_recipe(10);
  Model model(recipe);
  TrainingStep step(recipe, comm, model, samples);
  step.run(ExecSpace(), false);
  step.set_position({.step = 1, .epoch = 1});
  const std::vector<float> good = to_vector(model.parameters());
  std::vector<float> bad = good;
  const ParameterEntry& bias = model.network().table().entries().back();
  bad[static_cast<std::size_t>(bias.offset)] = std::numeric_limits<float>::quiet_NaN();
  Kokkos::deep_copy(model.parameters(), to_view(bad));
  const std::vector<float> state = to_vector(step.state().optimizer.at(0).pieces.front());

  const StepReport sums = step.run(ExecSpace(), false);

  EXPECT_FALSE(std::isfinite(sums.loss));
  EXPECT_TRUE(sums.diverged);
  EXPECT_EQ(sums.progress.step, 1);
  EXPECT_EQ(step.non_finite_layer(ExecSpace()), "fc1");
  EXPECT_EQ(to_vector(step.state().optimizer.at(0).pieces.front()), state);
  std::vector<float> after = to_vector(model.parameters());
  after[static_cast<std::size_t>(bias.offset)] = good[static_cast<std::size_t>(bias.offset)];
  EXPECT_EQ(after, good);
}

TEST(TrainingStep, VoteAndLocalLoss) {
  SerialCommunicator comm;
  const Samples samples = image_samples(10, kImage, 5);
  const Recipe recipe = image_recipe(7, {"train.per_rank_loss=true"});
  Model model(recipe);
  TrainingStep step(recipe, comm, model, samples);
  const StepReport first = step.run(ExecSpace(), false);
  EXPECT_FALSE(first.stop);
  EXPECT_NEAR(first.rank_loss, first.loss / 7, 1e-5 * first.rank_loss);
  const StepReport last = step.run(ExecSpace(), true);
  EXPECT_TRUE(last.stop);
  EXPECT_EQ(step.batch().samples(), 3);
  EXPECT_NEAR(last.rank_loss - first.rank_loss, last.loss / 3, 1e-5 * last.rank_loss);
}

TEST(TrainingStep, LearningRateIsTheSchedules) {
  SerialCommunicator comm;
  const Samples samples = image_samples(10, kImage, 5);
  const Recipe recipe = image_recipe(5, {"optimizer.schedule={warmup_steps = 4}"});
  Model model(recipe);
  const TrainingStep step(recipe, comm, model, samples);
  EXPECT_DOUBLE_EQ(step.learning_rate(0), 0.0025);
  EXPECT_DOUBLE_EQ(step.learning_rate(9), 0.01);
}

TEST(TrainingStep, RunThatFitsIntoNoMemoryIsRefusedBeforeAllocating) {
  SerialCommunicator comm;
  Samples samples;  // never looked at
  samples.count = 1 << 20;
  samples.shape = {1 << 24, 1, 1};
  const Recipe recipe = image_recipe(
      1 << 20, {"network.input=[16777216]", "network.layers=[{type=\"linear\", features=2}]",
                "optimizer.type=sgd"});
  Model model(recipe);
  expect_error([&] { TrainingStep step(recipe, comm, model, samples); }, ExitCode::bad_input,
               {kHostExecution ? "training on 1 rank of one node" : "a rank needs", "GiB"});
}

}  // namespace quern::test

// SPDX-License-Identifier: Apache-2.0
// Batch normalisation on several ranks: every rank also runs the whole batch by itself and
// compares.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "comm/agree.hpp"
#include "comm/serial/communicator.hpp"
#include "optim/optimizer.hpp"
#include "runtime/host_staged_transport.hpp"
#include "strategy/training_step.hpp"
#include "support/expect_error.hpp"
#include "support/train_samples.hpp"
#include "support/world.hpp"

namespace quern::test {

namespace {

using quern::testing::world;

struct Case {
  int count;
  int batch;
  int micro_block;
};

// Short last batches, short last blocks, ranks without blocks, and one with more than the others.
const std::vector<Case> kCases = {{18, 10, 2}, {24, 8, 2}, {9, 9, 8}, {7, 7, 2}, {34, 32, 4}};

Recipe recipe_of(const Case& c, const std::string& statistics,
                 const std::vector<std::string>& more = {}) {
  const std::string keys = "type=\"batch_norm\", statistics=\"" + statistics + "\"}, ";
  std::vector<std::string> sets = {
      "train.micro_block=" + std::to_string(c.micro_block),
      "network.layers=[{type=\"conv2d\", channels=3, kernel=3}, {" + keys +
          "{type=\"relu\"}, {type=\"conv2d\", channels=17, kernel=2}, {" + keys +
          "{type=\"max_pool2d\", size=2}, {type=\"flatten\"}, {type=\"linear\", features=20}, {" +
          (statistics == "block" ? std::string("type=\"tanh\"}, ") : keys) +
          "{type=\"relu\"}, {type=\"linear\", features=5}]"};
  sets.insert(sets.end(), more.begin(), more.end());
  return image_recipe(c.batch, sets);
}

struct Result {
  std::vector<float> weights;  ///< and running statistics
  std::vector<double> losses;
  std::int64_t num_trained = 0;
};

Result run_steps(Communicator& comm, const Recipe& recipe, const Samples& samples,
                 DeviceTransport* transport = nullptr) {
  Model model(recipe);
  HostStagedTransport staged(comm);
  DeviceTransport* needed = kHostExecution || comm.size() == 1 ? nullptr : &staged;
  TrainingStep step(recipe, comm, model, samples, transport ? transport : needed);
  Result result;
  for (int epoch = 0; epoch < 2; ++epoch) {
    step.set_position({.step = epoch * step.steps_per_epoch(), .epoch = epoch});
    for (std::int64_t i = 0; i < step.steps_per_epoch(); ++i)
      result.losses.push_back(step.run(ExecSpace(), false).loss);
  }
  result.weights = to_vector(model.parameters());
  result.num_trained = model.network().table().trained_size();
  return result;
}

}  // namespace

TEST(BatchNormRanks, SameBitsAsOneRankWithBothKindsOfStatistics) {
  HostStagedTransport transport(world());
  for (const Case& c : kCases)
    for (const char* statistics : {"global", "block", "running"}) {
      SCOPED_TRACE(std::to_string(c.count) + " samples, batch " + std::to_string(c.batch) + ", " +
                   statistics);
      const Samples samples = image_samples(c.count, kImage, 5);
      const Recipe recipe = recipe_of(c, statistics);
      SerialCommunicator alone;
      const Result expected = run_steps(alone, recipe, samples);
      for (DeviceTransport* moved_by :
           {static_cast<DeviceTransport*>(nullptr), static_cast<DeviceTransport*>(&transport)}) {
        const Result actual = run_steps(world(), recipe, samples, moved_by);
        EXPECT_EQ(actual.losses, expected.losses);
        EXPECT_EQ(actual.weights, expected.weights);
      }
    }
}

// Statistics of the batch are taken once in a step, whatever runs again.
TEST(BatchNormRanks, SameBitsWhereValuesAreComputedAgain) {
  for (const Case& c : kCases)
    for (const char* statistics : {"global", "block", "running"}) {
      SCOPED_TRACE(std::to_string(c.count) + " samples, batch " + std::to_string(c.batch) + ", " +
                   statistics);
      const Samples samples = image_samples(c.count, kImage, 5);
      SerialCommunicator alone;
      const Result expected = run_steps(alone, recipe_of(c, statistics), samples);
      const Recipe recipe = recipe_of(c, statistics, {"train.recompute=true"});
      EXPECT_GE(Model(recipe).network().num_recomputed_segments(), 1);
      const Result actual = run_steps(world(), recipe, samples);
      EXPECT_EQ(actual.losses, expected.losses);
      EXPECT_EQ(actual.weights, expected.weights);
    }
}

// Statistics of large values must not count in the norm that clipping takes.
TEST(BatchNormRanks, ClippingSeesGradientsOnly) {
  Samples samples = image_samples(18, kImage, 5);
  std::vector<float> values;
  for (const std::uint8_t pixel : to_vector(samples.images)) values.push_back(100.0f * pixel);
  samples.images = {};
  samples.values = to_view(values);
  const auto train_with = [&](const std::string& clip_norm) {
    const Recipe recipe = image_recipe(
        10, {"optimizer.clip_norm=" + clip_norm,
             "network.layers=[{type=\"batch_norm\"}, {type=\"flatten\"}, {type=\"linear\", "
             "features=5}]"});
    return run_steps(world(), recipe, samples).weights;
  };
  EXPECT_EQ(train_with("1000.0"), train_with("0.0"));
  EXPECT_NE(train_with("0.01"), train_with("0.0"));
}

TEST(BatchNormRanks, FastModeAgreesUpToRounding) {
  for (const Case& c : kCases)
    for (const char* statistics : {"global", "block", "running"}) {
      const Samples samples = image_samples(c.count, kImage, 5);
      const Recipe recipe =
          recipe_of(c, statistics, {"train.determinism=fast", "optimizer={type=\"sgd\", lr=0.05}"});
      SerialCommunicator alone;
      const Result expected = run_steps(alone, recipe, samples);
      const Result actual = run_steps(world(), recipe, samples);
      ASSERT_EQ(actual.weights.size(), expected.weights.size());
      for (std::size_t i = 0; i < actual.weights.size(); ++i)
        EXPECT_NEAR(actual.weights[i], expected.weights[i], 1e-4) << i;
    }
}

TEST(BatchNormRanks, BlocksAndTheGlobalBatchAreNotTheSame) {
  const Case c{18, 10, 2};
  const Samples samples = image_samples(c.count, kImage, 5);
  SerialCommunicator alone;
  const Result global = run_steps(alone, recipe_of(c, "global"), samples);
  const Result block = run_steps(alone, recipe_of(c, "block"), samples);
  EXPECT_NE(global.losses, block.losses);
}

TEST(BatchNormRanks, AStepThatIsNotFiniteChangesNoStatistics) {
  for (const char* statistics : {"global", "block", "running"}) {
    const Case c{18, 10, 2};
    const Samples samples = image_samples(c.count, kImage, 5);
    // The first update overflows the weights; the second step's loss is not finite.
    const Recipe recipe =
        recipe_of(c, statistics, {"optimizer={type=\"sgd\", lr=1e38, momentum=0.0}"});
    Model model(recipe);
    HostStagedTransport transport(world());
    TrainingStep step(recipe, world(), model, samples,
                      kHostExecution || world().size() == 1 ? nullptr : &transport);
    EXPECT_FALSE(step.run(ExecSpace(), false).diverged);
    const std::vector<float> before = to_vector(model.parameters());
    EXPECT_TRUE(step.run(ExecSpace(), false).diverged);
    world().barrier();
    const std::vector<float> after = to_vector(model.parameters());
    const auto trained = static_cast<std::size_t>(model.network().table().trained_size());
    ASSERT_LT(trained, after.size());
    for (std::size_t i = trained; i < after.size(); ++i) {
      EXPECT_EQ(after[i], before[i]) << statistics << " " << i;
      EXPECT_TRUE(std::isfinite(after[i])) << statistics << " " << i;
    }
    step.non_finite_layer(ExecSpace());  // runs forward again, on all ranks
    EXPECT_EQ(std::vector<float>(after.begin() + std::ptrdiff_t(trained), after.end()), [&] {
      const std::vector<float> now = to_vector(model.parameters());
      return std::vector<float>(now.begin() + std::ptrdiff_t(trained), now.end());
    }());
  }
}

TEST(BatchNormRanks, OneValuePerChannelIsRefusedByAll) {
  const auto refusal = [&](const Case& c, const std::string& statistics,
                           const std::string& layers) {
    const Samples samples = image_samples(c.count, kImage, 5);
    const Recipe recipe = image_recipe(
        c.batch, {"train.micro_block=" + std::to_string(c.micro_block),
                  "network.layers=[" + layers + "{type=\"batch_norm\", statistics=\"" + statistics +
                      "\"}, {type=\"flatten\"}, {type=\"linear\", features=5}]"});
    Model model(recipe);
    try {
      TrainingStep(recipe, world(), model, samples);
    } catch (const AgreedError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string flat = "{type=\"flatten\"}, {type=\"linear\", features=4}, ";
  EXPECT_EQ(refusal({21, 10, 2}, "global", flat),
            "layer 'bn1' takes mean and variance of each channel over the batch, and one has 1 "
            "sample (expected at least 2; choose another size of the batch)");
  EXPECT_EQ(refusal({7, 7, 2}, "block", flat),
            "layer 'bn1' takes mean and variance of each channel over each micro-block, and one "
            "has 1 sample (expected at least 2; choose another size of the batch or "
            "train.micro_block)");
  EXPECT_EQ(refusal({7, 7, 2}, "global", flat), "");
  EXPECT_EQ(refusal({21, 10, 2}, "block", ""), "") << "an image has many values per channel";
}

}  // namespace quern::test

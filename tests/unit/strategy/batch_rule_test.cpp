// SPDX-License-Identifier: Apache-2.0
#include "strategy/batch_rule.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/train_samples.hpp"

namespace quern::test {

TEST(BatchRule, AnEpochIsFullBatchesAndWhatIsLeftOver) {
  const Recipe recipe = image_recipe(48);
  const BatchRule rule = training_batches(recipe, 3, 100);
  EXPECT_EQ(rule.global_batch, 48);
  EXPECT_EQ(rule.full_batch, 48);
  EXPECT_EQ(rule.last_batch, 4);
  EXPECT_EQ(rule.steps_per_epoch(), 3);
  EXPECT_EQ(rule.block_samples, 4);
  EXPECT_FALSE(rule.is_short(0));
  EXPECT_FALSE(rule.is_short(48));
  EXPECT_TRUE(rule.is_short(96));
  const BatchRule even = training_batches(recipe, 1, 96);
  EXPECT_EQ(even.last_batch, 48);
  EXPECT_EQ(even.steps_per_epoch(), 2);
  EXPECT_FALSE(even.is_short(48));
}

TEST(BatchRule, ABatchHoldsNoMoreSamplesThanThereAre) {
  const BatchRule rule = training_batches(image_recipe(512, {"train.micro_block=0"}), 2, 100);
  EXPECT_EQ(rule.global_batch, 512);
  EXPECT_EQ(rule.full_batch, 100);
  EXPECT_EQ(rule.last_batch, 100);
  EXPECT_EQ(rule.steps_per_epoch(), 1);
  EXPECT_EQ(rule.block_samples, 16) << "of the batch in force";
  EXPECT_EQ(full_batch_of(512, 100), full_batch_of(100, 100));
  EXPECT_EQ(full_batch_of(99, 100), 99);
}

TEST(BatchRule, MicroBlocksOfImagesFillTheLanesByDefault) {
  const auto block_of = [](int batch, const std::string& layers,
                           const std::string& precision = "fp32") {
    const Recipe recipe =
        image_recipe(batch, {"train.micro_block=0", "train.precision=" + precision,
                             "network.layers=[" + layers + "{type=\"linear\", features=5}]"});
    return training_batches(recipe, 2, 10000).block_samples;
  };
  const std::string flatten = "{type=\"flatten\"}, ";
  for (const std::string images :
       {"{type=\"conv2d\", channels=2, kernel=3}, ", "{type=\"max_pool2d\", size=2}, ",
        "{type=\"relu\"}, {type=\"batch_norm\"}, ", "{type=\"layer_norm\"}, "}) {
    EXPECT_EQ(block_of(7, images + flatten), 7) << images;
    EXPECT_EQ(block_of(16, images + flatten), 16) << images;
    EXPECT_EQ(block_of(120, images + flatten), 16) << images;
    EXPECT_EQ(block_of(255, images + flatten), 16) << images;
    EXPECT_EQ(block_of(256, images + flatten), 32) << images;
    EXPECT_EQ(block_of(128, images + flatten, "bf16"), 32) << images;
  }
  for (const std::string flat : {"", "{type=\"layer_norm\"}, ", "{type=\"batch_norm\"}, "}) {
    EXPECT_EQ(block_of(7, flatten + flat), 1) << flat;
    EXPECT_EQ(block_of(16, flatten + flat), 2) << flat;
    EXPECT_EQ(block_of(120, flatten + flat), 8) << flat;
    EXPECT_EQ(block_of(1000, flatten + flat), 32) << flat;
    EXPECT_EQ(block_of(16, flatten + flat, "bf16"), 4) << flat;
  }
}

TEST(BatchRule, ABatchPerRankGrowsWithTheRanks) {
  Recipe recipe = image_recipe(8);
  recipe.data.global_batch = 0;
  recipe.data.batch_per_rank = 30;
  EXPECT_EQ(training_batches(recipe, 3, 1000).full_batch, 90);
  EXPECT_EQ(training_batches(recipe, 40, 1000).full_batch, 1000);
  recipe.data.batch_per_rank = kMaxGlobalBatch;
  expect_error([&] { training_batches(recipe, 2, 1000); }, ExitCode::bad_input,
               {"data.batch_per_rank", "expected at most"});
}

TEST(BatchRule, EvaluationIsCutLikeTrainingAndAlwaysExact) {
  const Recipe recipe = image_recipe(64, {"train.determinism=fast"});
  EXPECT_EQ(training_batches(recipe, 1, 1000).determinism, Determinism::fast);
  const BatchRule rule = evaluation_batches(recipe, 64, 10);
  EXPECT_EQ(rule.full_batch, 10);
  EXPECT_EQ(rule.last_batch, 10);
  EXPECT_EQ(rule.block_samples, 8) << "of the training's batch";
  EXPECT_EQ(rule.determinism, Determinism::rank_invariant);
  const BatchCut cut = rule.cut(16);
  EXPECT_EQ(cut.block_samples, 8);
  EXPECT_EQ(cut.row_multiple, 16);
}

}  // namespace quern::test

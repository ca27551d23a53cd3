// SPDX-License-Identifier: Apache-2.0
// What a step asks of ranks, taken from the recipe.
#include "plan/step_demand.hpp"

#include <gtest/gtest.h>

#include "parallel/make_reducer.hpp"
#include "support/train_samples.hpp"

namespace quern::test {

TEST(StepDemands, CountMicroBlocksAndPartialSums) {
  const Recipe recipe = image_recipe(48, {"train.micro_block=4"});
  const StepDemands demands(recipe);
  const StepDemand even = demands.of(recipe, 3, 1);
  EXPECT_EQ(even.blocks, 12);
  EXPECT_EQ(even.block_samples, 4);
  EXPECT_EQ(even.samples, 16);
  EXPECT_EQ(even.partial_sums, 1);
  EXPECT_EQ(even.all_partial_sums, 3);
  EXPECT_EQ(even.idle_ranks, 0);
  const StepDemand odd = demands.of(recipe, 5, 1);
  EXPECT_EQ(odd.samples, 12);
  EXPECT_EQ(odd.partial_sums, 2) << "three blocks: a pair, and one";
  EXPECT_EQ(odd.all_partial_sums, 8);
  EXPECT_EQ(odd.idle_ranks, 1);
}

TEST(StepDemands, StateIsSharedWhereTheNodeHasRoom) {
  const Recipe recipe = image_recipe(48);
  const StepDemands demands(recipe);
  const StepDemand by_messages = demands.of(recipe, 4, 4);
  EXPECT_FALSE(by_messages.shares_state);
  const double room =
      wanted_shared_bytes(4, by_messages.floats, {.partial_sums = by_messages.partial_sums});
  EXPECT_FALSE(demands.of(recipe, 4, 4, room - 1).shares_state);
  const StepDemand shared = demands.of(recipe, 4, 4, room);
  EXPECT_EQ(shared.shares_state, kHostExecution);
  if (!kHostExecution) return;
  EXPECT_LT(demands.memory_bytes(recipe, shared), demands.memory_bytes(recipe, by_messages));
}

TEST(StepDemands, WhoHandsOnSpreadStateHoldsTwoArrays) {
  const Recipe recipe = image_recipe(48);
  const Recipe sharded = image_recipe(48, {"parallel.shard_optimizer=true"});
  EXPECT_EQ(StepDemands(sharded).collected_bytes(sharded),
            2 * StepDemands(recipe).collected_bytes(recipe));
}

}  // namespace quern::test

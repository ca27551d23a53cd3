// SPDX-License-Identifier: Apache-2.0
// What a recipe is told whose ranks cannot share the work as it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "small_recipe.hpp"

namespace quern {
namespace {

TEST(Pipeline, CutsHaveToFit) {
  const auto with = [](const std::string& keys) {
    return error_of(kSmallRecipe + "[parallel]\n" + keys);
  };
  EXPECT_EQ(with("pipeline = 3\ncut = [\"fc1\"]\n"),
            "r.toml:25: parallel.cut: [\"fc1\"] names 1 layer, expected 2: the first of each of "
            "parallel.pipeline = 3 stages but the first");
  EXPECT_EQ(with("cut = [\"fc1\", \"fc2\"]\n"),
            "r.toml:24: parallel.cut: [\"fc1\", \"fc2\"] names 2 layers, expected 0: the first of "
            "each of parallel.pipeline = 1 stages but the first");
  EXPECT_EQ(with("cut = [\"fc 1\"]\npipeline = 2\n").substr(0, 24), "r.toml:24: parallel.cut[");
}

TEST(Strategy, ContradictsKeysThatSplitOtherwise) {
  EXPECT_EQ(error_of(kSmallRecipe + "[parallel]\nstrategy = \"data\"\nshard_optimizer = true\n"),
            "r.toml:25: parallel.shard_optimizer: true contradicts parallel.strategy = \"data\" "
            "(expected false, or parallel.strategy = \"sharded\")");
  for (const std::string strategy : {"single", "data", "sharded"})
    for (const std::string key : {"pipeline", "tensor"})
      EXPECT_EQ(
          error_of(kSmallRecipe + "[parallel]\nstrategy = \"" + strategy + "\"\n" + key + " = 2\n"),
          "r.toml:25: parallel." + key + ": 2 contradicts parallel.strategy = \"" + strategy +
              "\" (expected 1)");
}

TEST(Balance, ContradictsWhatKeepsBlocksWhereTheyAre) {
  const auto with = [](const std::string& keys) {
    return error_of(kSmallRecipe + "[parallel]\nbalance = true\n" + keys);
  };
  EXPECT_EQ(
      with("micro_batches = 2\n"),
      "r.toml:24: parallel.balance: true contradicts parallel.micro_batches = 2 (expected 1)");
  EXPECT_EQ(with("pipeline = 2\n"),
            "r.toml:24: parallel.balance: true contradicts parallel.pipeline = 2 (expected 1)");
  EXPECT_EQ(with("tensor = 2\n"),
            "r.toml:24: parallel.balance: true contradicts parallel.tensor = 2 (expected 1)");
  for (const std::string strategy : {"pipeline", "tensor"})
    EXPECT_EQ(with("strategy = \"" + strategy + "\"\n"),
              "r.toml:24: parallel.balance: true contradicts parallel.strategy = \"" + strategy +
                  "\" (expected \"data\")");
  EXPECT_EQ(with("[train]\ndeterminism = \"fast\"\n"),
            "r.toml:24: parallel.balance: true contradicts train.determinism = \"fast\" "
            "(expected \"rank-invariant\")");
  // What contradicts another key as well is said once.
  EXPECT_EQ(with("strategy = \"single\"\npipeline = 2\n"),
            "r.toml:26: parallel.pipeline: 2 contradicts parallel.strategy = \"single\" "
            "(expected 1)");
  EXPECT_NO_THROW(parse_recipe(kSmallRecipe + "[parallel]\nbalance = true\n"
                                              "strategy = \"data\"\n[train]\n"
                                              "determinism = \"rank-invariant\"\n",
                               "r.toml"));
  EXPECT_NO_THROW(
      parse_recipe(kSmallRecipe + "[parallel]\nbalance = false\npipeline = 2\n", "r.toml"));
}

TEST(TensorSlices, AreSharedByTheRanks) {
  const auto with = [](const std::string& keys) {
    return error_of(kSmallRecipe + "[parallel]\n" + keys);
  };
  EXPECT_EQ(with("tensor = 3\ntensor_slices = 8\n"),
            "r.toml:25: parallel.tensor_slices: 8 cannot be shared by parallel.tensor = 3 ranks, "
            "expected a multiple of 3");
  EXPECT_EQ(with("tensor = 2\ntensor_slices = 12\n"),
            "r.toml:25: parallel.tensor_slices: 12 gives each of parallel.tensor = 2 ranks 6 "
            "slices, expected a power of two of them");
}

TEST(TensorSlices, AreChosenByTheNumberOfRanks) {
  const auto slices = [](const std::string& keys) {
    return tensor_slices(parse_recipe(kSmallRecipe + "[parallel]\n" + keys, "r.toml"));
  };
  EXPECT_EQ(slices(""), 0);
  EXPECT_EQ(slices("tensor_slices = 12"), 12);
  for (const int ranks : {2, 4, 8}) EXPECT_EQ(slices("tensor = " + std::to_string(ranks)), 8);
  EXPECT_EQ(slices("tensor = 3"), 12);
  EXPECT_EQ(slices("tensor = 5"), 10);
  EXPECT_EQ(slices("tensor = 9"), 9);
  EXPECT_EQ(slices("tensor = 3\n[train]\ndeterminism = \"fast\""), 3);
  // One rank is the reference of many.
  EXPECT_EQ(slices("strategy = \"tensor\""), 8);
  EXPECT_EQ(slices("strategy = \"tensor\"\n[train]\ndeterminism = \"fast\""), 0);
}

}  // namespace
}  // namespace quern

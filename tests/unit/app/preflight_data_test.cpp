// SPDX-License-Identifier: Apache-2.0
// What preflight asks of the data sets, and how few files it opens for that.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "app/preflight/data.hpp"
#include "app/preflight/recipe.hpp"
#include "comm/serial/communicator.hpp"
#include "config/read_recipe.hpp"
#include "io/shard_format.hpp"
#include "io/shard_writer.hpp"
#include "support/temp_dir.hpp"
#include "unit/config/small_recipe.hpp"

namespace quern {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kShards = 4;
constexpr std::int64_t kTrained = 12;
constexpr std::int64_t kTested = 8;
constexpr std::int64_t kSampleBytes = 6 + 4;  // pixels, and a label of 32 bits

class PreflightData : public testing::Test {
 protected:
  PreflightData() {
    write("train", kTrained, 0);
    write("test", kTested, 0);
    data_.source = DataSource::shards;
    data_.train = data_.test = folder_.path().string();
  }

  void write(const std::string& split, std::int64_t count, std::uint8_t pixel,
             Overwrite overwrite = Overwrite::no) {
    const std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count * 6), pixel);
    const std::vector<std::uint8_t> labels(static_cast<std::size_t>(count), 1);
    write_shards(folder_.path(), {"toy", split, {1, 3, 2}, 2, kShards}, pixels, labels, overwrite);
  }

  void write_test_set_of_three_classes() {
    const std::vector<std::uint8_t> pixels(6 * kTested);
    const std::vector<std::uint8_t> labels(kTested, 2);
    for (int index = 0; index < kShards; ++index) std::filesystem::remove(shard("test", index));
    write_shards(folder_.path(), {"toy", "test", {1, 3, 2}, 3, kShards}, pixels, labels,
                 Overwrite::no);
  }

  std::filesystem::path shard(const std::string& split, int index) const {
    return folder_ / to_string(ShardFileName{"toy", split, index, kShards});
  }

  test::TempDir folder_;
  SerialCommunicator comm_;
  DataSpec data_;
};

TEST_F(PreflightData, NothingWithoutShards) {
  data_.source = DataSource::random;
  const DataSets sets = open_data_sets(comm_, data_);
  EXPECT_TRUE(sets.sets.empty());
  EXPECT_EQ(data_problems(sets, data_, 1, 1).reading, "");
}

TEST_F(PreflightData, WhatRankZeroCannotOpenIsAProblemOfAll) {
  data_.test = "no/such/folder";
  EXPECT_THAT(data_problems(open_data_sets(comm_, data_), data_, 1, 1).reading,
              HasSubstr("no/such/folder"));
}

TEST_F(PreflightData, WhatARankCannotOpenAnotherNodeMay) {
  DataSets sets;
  sets.problem = "of another rank";
  EXPECT_EQ(data_problems(sets, data_, 1, 2).reading, "");
  std::filesystem::remove(shard("test", 1));
  EXPECT_THAT(data_problems(sets, data_, 1, 2).reading, HasSubstr(folder_.path().string()));
}

TEST_F(PreflightData, TheTrainingMustFitBesideItsData) {
  const DataSets sets = open_data_sets(comm_, data_);
  EXPECT_EQ(data_problems(sets, data_, 1, 1, 1 << 20).memory, "");
  EXPECT_THAT(data_problems(sets, data_, 1, 1, std::int64_t{1} << 60).memory,
              HasSubstr("the training with its data needs "));
}

TEST_F(PreflightData, NodesOpenTheFirstAndTheLastShardOfEachSetOnly) {
  const DataSets sets = open_data_sets(comm_, data_);
  ASSERT_EQ(sets.problem, "");
  EXPECT_EQ(data_problems(sets, data_, 1, 1).reading, "");
  for (const char* split : {"train", "test"}) {
    for (int index = 1; index < kShards - 1; ++index) std::filesystem::remove(shard(split, index));
  }
  EXPECT_EQ(data_problems(sets, data_, 1, 1).reading, "");
  for (const char* split : {"train", "test"}) {
    for (const int index : {0, kShards - 1}) {
      const std::filesystem::path file = shard(split, index);
      std::filesystem::rename(file, folder_ / "away");
      EXPECT_THAT(data_problems(sets, data_, 1, 1).reading, HasSubstr(file.string()));
      std::filesystem::rename(folder_ / "away", file);
    }
  }
}

TEST_F(PreflightData, ACopyOfAnotherSetIsAProblem) {
  const DataSets sets = open_data_sets(comm_, data_);
  write("test", kTested, 7, Overwrite::yes);
  EXPECT_THAT(data_problems(sets, data_, 1, 1).reading,
              AllOf(HasSubstr(shard("test", 0).string()), HasSubstr("another rank has opened")));
}

// The set has 12 samples [1, 3, 2] of 2 classes.
TEST_F(PreflightData, ARecipeSuitsThem) {
  const auto problem = [&](const std::vector<std::string>& more, int ranks = 1) {
    std::vector<std::string> settings = {
        "data.train=" + data_.train, "data.test=" + data_.test, "data.global_batch=5",
        "network.input=[1, 3, 2]",
        "network.layers=[{type = \"flatten\"}, {type = \"linear\", features = 2}]"};
    settings.insert(settings.end(), more.begin(), more.end());
    const Recipe recipe = parse_recipe(kSmallRecipe, "small.toml", settings);
    EXPECT_EQ(recipe_problem(recipe, ranks), "");
    return fit_problem(recipe, ranks, open_data_sets(comm_, recipe.data));
  };
  const std::string norm =
      "network.layers=[{type = \"flatten\"}, {type = \"linear\", features = "
      "2}, {type = \"batch_norm\"}]";
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({}, 5), "");
  EXPECT_THAT(
      problem({"network.input=[3, 2, 1]"}),
      HasSubstr("network.input is [3, 2, 1], but a sample of '" + data_.train + "' is [1, 3, 2]"));
  EXPECT_THAT(problem({"network.layers=[{type = \"flatten\"}, {type = \"linear\", features = 1}]"}),
              HasSubstr("puts out [1], but '" + data_.train + "' has 2 classes"));
  EXPECT_THAT(problem({"data.target=values", "loss.type=mse"}),
              HasSubstr("' come with labels, not with values"));
  EXPECT_THAT(problem({"data.global_batch=13"}, 13), HasSubstr("13 ranks for 12 training samples"));
  EXPECT_THAT(problem({"data.memory=\"100 B\""}), HasSubstr("(expected at least \"120 B\")"));
  EXPECT_EQ(problem({norm}), "") << "the last batch has two samples";
  EXPECT_THAT(problem({norm, "data.global_batch=11"}), HasSubstr("'bn1' takes mean and variance"));
  // What the test set alone has.
  write_test_set_of_three_classes();
  EXPECT_THAT(problem({}), HasSubstr("has 3 classes"));
}

TEST_F(PreflightData, SetsThatAreStreamedHoldWhatTheyMay) {
  const std::vector<ShardSet> sets = open_data_sets(comm_, data_).sets;
  const auto held = [&](std::int64_t memory, int node_ranks, int ranks) {
    data_.memory = memory;
    return held_bytes(sets, data_, node_ranks, ranks);
  };
  EXPECT_EQ(held(0, 1, 1), (kTrained + kTested) * kSampleBytes);
  EXPECT_EQ(held(kTrained * kSampleBytes, 2, 4), (kTrained + kTested) * kSampleBytes);
  // The training set alone is larger, then both are.
  EXPECT_EQ(held(100, 2, 4), 50 + kTested * kSampleBytes);
  EXPECT_EQ(held(40, 2, 4), 20 + 20);
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// What a program hands over, recipe and samples, is checked to be the same on all ranks.
#include "samples/own_samples.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "comm/exchange.hpp"
#include "config/read_recipe.hpp"
#include "samples/own_sample_checks.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"
#include "support/world.hpp"
#include "train/training_run.hpp"

namespace quern::test {

using quern::testing::world;

namespace {

Recipe own_recipe(const std::vector<std::string>& more = {}) {
  return parse_recipe(R"(
name = "own"
data = {source = "program", global_batch = 8, target = "values"}
loss = {type = "mse"}
optimizer = {type = "sgd", lr = 1.0}
network = {input = [1], layers = [{type = "linear", features = 1}]}
)",
                      "test", more);
}

Samples samples(float first) {
  return make_target_samples({1}, std::vector<float>{first, 1, 2, 3}, 1,
                             std::vector<float>{0, 1, 2, 3});
}

bool is_last_of_several() {
  return world().size() > 1 && world().rank() == world().size() - 1;
}

std::string last_rank() {
  return "rank " + std::to_string(world().size() - 1);
}

// That of rank 0, on all ranks.
std::filesystem::path shared(const TempDir& folder) {
  return broadcast_string(world(), (folder / "run").string());
}

}  // namespace

TEST(OwnRecipe, MustBeEqualOnAllRanks) {
  if (world().size() == 1) return;
  const TempDir folder;
  const auto refuse = [&](const std::string& key, const std::string& words) {
    expect_error(
        [&] {
          const std::vector<std::string> other = {key};
          TrainingRun(world(),
                      own_recipe(is_last_of_several() ? other : std::vector<std::string>{}),
                      {.folder = shared(folder), .train = samples(0)});
        },
        ExitCode::bad_input, {last_rank(), "the recipe is not the same on all ranks", words});
  };
  refuse("optimizer.lr=0.5", "optimizer.lr is 0.5, and 1.0 on rank 0");
  refuse("seed=7", "seed is 7, and 0 on rank 0");
  refuse("train.epochs=3", "train.epochs is 3, and");
  refuse("data.global_batch=4", "data.global_batch is 4, and 8 on rank 0");
  refuse("network.layers.0.name=other", "network.layers[0].name is \"other\"");
}

TEST(OwnRecipe, OptionsMustBeEqualOnAllRanks) {
  if (world().size() == 1) return;
  const TempDir folder;
  const auto refuse = [&](const std::string& words, auto&& change) {
    RunOptions options{.folder = shared(folder), .train = samples(0), .test = samples(1)};
    if (is_last_of_several()) change(options);
    expect_error([&] { TrainingRun(world(), own_recipe(), options); }, ExitCode::bad_input,
                 {last_rank(), words});
  };
  refuse("RunOptions::folder is", [&](RunOptions& o) { o.folder = folder / "other"; });
  refuse("RunOptions::resume is never", [](RunOptions& o) { o.resume = "never"; });
  refuse("RunOptions::changes is optimizer.lr, and",
         [](RunOptions& o) { o.changes = {"optimizer.lr"}; });
  refuse("RunOptions::test is not given, and given on rank 0",
         [](RunOptions& o) { o.test.reset(); });
}

TEST(OwnSamples, MustBeEqualOnAllRanks) {
  const TempDir folder;
  const Recipe recipe = own_recipe();
  EXPECT_NO_THROW(TrainingRun(world(), recipe, {.folder = shared(folder), .train = samples(0)}));
  if (world().size() == 1) return;
  expect_error(
      [&] {
        TrainingRun(
            world(), recipe,
            {.folder = shared(folder), .train = samples(is_last_of_several() ? 7.0f : 0.0f)});
      },
      ExitCode::bad_input, {last_rank(), "the samples that the program brings: SHA-256 "});
}

TEST(NodeSamples, SharesOfAllRanksAreOneSet) {
  constexpr std::int64_t kCount = 10;
  const ShardContent content{.input = StoredType::float32, .shape = {1}, .answer = Answer::none};
  const auto make = [&](float bad) {
    return make_node_samples(world(), "mine", kCount, content, [&](const SampleArrays& arrays) {
      for (std::int64_t i = world().node_rank(); i < kCount; i += world().node_size())
        arrays.values[static_cast<std::size_t>(i)] = i == 7 ? bad : static_cast<float>(i);
    });
  };
  std::vector<float> all(kCount);
  std::iota(all.begin(), all.end(), 0.0f);
  EXPECT_EQ(make(7).data_hash, hash_of_samples(std::as_bytes(std::span(all)), {}));
  expect_error([&] { make(std::nanf("")); }, ExitCode::bad_input,
               {"mine: the values of sample 7 hold nan"});
}

TEST(NodeSamples, AreAsManyOnAllRanks) {
  if (world().size() == 1) return;
  const auto make = [&](std::int64_t count, int units) {
    const ShardContent content{
        .input = StoredType::float32, .shape = {units}, .answer = Answer::none};
    return make_node_samples(world(), "mine", count, content, [](const SampleArrays&) {});
  };
  expect_error([&] { make(10 + 1000000 * world().rank(), 1); }, ExitCode::bad_input,
               {"mine: 1000010 samples, ", ", and on rank 0 10 samples, "});
  expect_error([&] { make(10, 1 + world().rank()); }, ExitCode::bad_input,
               {"mine: 10 samples, float32 values [2]"});
}

// On a communicator of its own, with another recipe than others.
TEST(OwnRecipe, EachRankMayTrainAlone) {
  const TempDir folder;
  const auto alone = world().split(world().rank());
  const std::vector<std::string> mine = {"data.global_batch=2",
                                         "train.epochs=" + std::to_string(1 + world().rank())};
  TrainingRun run(*alone, own_recipe(mine),
                  {.folder = folder / "run", .train = samples(0), .test = samples(0)});
  EXPECT_EQ(run.train(), ExitCode::done);
  EXPECT_EQ(run.evaluate().samples, 4);
  EXPECT_TRUE(std::filesystem::exists(folder / "run" / "DONE"));
}

}  // namespace quern::test

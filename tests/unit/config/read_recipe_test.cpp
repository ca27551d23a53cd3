// SPDX-License-Identifier: Apache-2.0
#include "config/read_recipe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "small_recipe.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"
#include "support/unopenable_file.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ReadRecipe, FillsInDefaults) {
  const Recipe recipe = parse_recipe(kSmallRecipe, "r.toml");
  Recipe expected;
  expected.name = "small";
  expected.data.train = "shards";
  expected.data.global_batch = 32;
  expected.network.input = {1, 28, 28};
  expected.network.layers = {
      {.type = LayerType::conv2d, .name = "conv1", .channels = 4, .kernel = 3},
      {.type = LayerType::relu, .name = "relu1"},
      {.type = LayerType::max_pool2d, .name = "max_pool2d1", .stride = 2, .size = 2},
      {.type = LayerType::flatten, .name = "flatten1"},
      {.type = LayerType::linear, .name = "fc1", .features = 10}};
  expected.optimizer.lr = 0.1;
  EXPECT_EQ(recipe, expected);
  EXPECT_EQ(recipe.network.layers[2].recipe_line, 12);
}

TEST(ReadRecipe, ReadsEveryKeyOfAnSgdRecipe) {
  const Recipe recipe = parse_recipe(R"(
name = "full"
seed = 9223372036854775807
[data]
source = "shards"
train = "a"
test = "b"
batch_per_rank = 8
shuffle = false
target = "input"
augment = {crop = 0, flip = false}
[network]
input = [3, 5, 7]
init = {type = "normal", std = 1}
[[network.layers]]
type = "conv2d"
name = "stem"
channels = 2
kernel = 5
stride = 3
padding = 4
bias = false
[[network.layers]]
type = "dropout"
p = 0.25
[[network.layers]]
type = "avg_pool2d"
size = 3
stride = 1
[loss]
type = "mse"
[optimizer]
type = "sgd"
lr = 1
momentum = 0.9
nesterov = true
weight_decay = 1e-4
clip_norm = 5
schedule = {type = "step", warmup_steps = 10, every_epochs = 3, gamma = 0.5}
[train]
epochs = 7
determinism = "fast"
precision = "bf16"
micro_block = 4
log_every_steps = 0
per_rank_loss = true
[parallel]
backend = "mpi"
[checkpoint]
every_epochs = 0
every_steps = 100
every_seconds = 60.5
keep = 1
)",
                                     "r.toml");
  Recipe expected;
  expected.name = "full";
  expected.seed = 9223372036854775807u;
  expected.data = {.train = "a",
                   .test = "b",
                   .batch_per_rank = 8,
                   .shuffle = false,
                   .target = TargetType::input,
                   .normalize = {},
                   .normalize_targets = {},
                   .augment = {}};
  expected.network.input = {3, 5, 7};
  expected.network.init = {.type = InitType::normal, .std = 1};
  expected.network.layers = {
      {.type = LayerType::conv2d,
       .name = "stem",
       .channels = 2,
       .kernel = 5,
       .stride = 3,
       .padding = 4,
       .bias = false},
      {.type = LayerType::dropout, .name = "dropout1", .probability = 0.25},
      {.type = LayerType::avg_pool2d, .name = "avg_pool2d1", .stride = 1, .size = 3}};
  expected.loss.type = LossType::mse;
  expected.optimizer.lr = 1;
  expected.optimizer.momentum = 0.9;
  expected.optimizer.nesterov = true;
  expected.optimizer.weight_decay = 1e-4;
  expected.optimizer.clip_norm = 5;
  expected.optimizer.schedule = {
      .type = ScheduleType::step, .warmup_steps = 10, .every_epochs = 3, .gamma = 0.5};
  expected.train = {.epochs = 7,
                    .determinism = Determinism::fast,
                    .precision = Precision::bf16,
                    .micro_block = 4,
                    .log_every_steps = 0,
                    .per_rank_loss = true};
  expected.parallel.backend = CommBackend::mpi;
  expected.checkpoint = {.every_epochs = 0, .every_steps = 100, .every_seconds = 60.5, .keep = 1};
  EXPECT_EQ(recipe, expected);
}

TEST(ReadRecipe, ReadsTheKeysOfAdamWithCosine) {
  const Recipe recipe = parse_recipe(small_recipe("\"sgd\"", R"("adamw"
betas = [0.8, 0.99]
eps = 1e-6
schedule = {type = "cosine", min_lr = 0.01})"),
                                     "r.toml");
  EXPECT_EQ(recipe.optimizer.type, OptimizerType::adamw);
  EXPECT_EQ(recipe.optimizer.beta1, 0.8);
  EXPECT_EQ(recipe.optimizer.beta2, 0.99);
  EXPECT_EQ(recipe.optimizer.eps, 1e-6);
  EXPECT_EQ(recipe.optimizer.schedule.min_lr, 0.01);
}

TEST(ReadRecipe, ReadsTheKeysOfLarsAndLamb) {
  const Recipe lars = parse_recipe(
      small_recipe("\"sgd\"",
                   "\"lars\"\nmomentum = 0.9\nnesterov = true\ntrust_coefficient = 0.02"),
      "r.toml");
  EXPECT_EQ(lars.optimizer.type, OptimizerType::lars);
  EXPECT_EQ(lars.optimizer.momentum, 0.9);
  EXPECT_TRUE(lars.optimizer.nesterov);
  EXPECT_EQ(lars.optimizer.trust_coefficient, 0.02);
  const Recipe lamb =
      parse_recipe(small_recipe("\"sgd\"", "\"lamb\"\nbetas = [0.8, 0.99]\neps = 1e-6"), "r.toml");
  EXPECT_EQ(lamb.optimizer.type, OptimizerType::lamb);
  EXPECT_EQ(lamb.optimizer.beta1, 0.8);
  EXPECT_EQ(lamb.optimizer.eps, 1e-6);
}

TEST(ReadRecipe, AStringIsShortForATableWithAType) {
  const std::string text = kSmallRecipe + "schedule = \"cosine\"\n";
  const Recipe recipe =
      parse_recipe(replaced(text, "[network]", "[network]\ninit = \"normal\""), "r.toml");
  EXPECT_EQ(recipe.optimizer.schedule.type, ScheduleType::cosine);
  EXPECT_EQ(recipe.network.init.type, InitType::normal);
  EXPECT_EQ(recipe.network.init.std, 0.01);
}

TEST(ReadRecipe, NamesCountPerType) {
  const Recipe recipe = parse_recipe(
      small_recipe("{type = \"relu\"}", R"({type = "relu"}, {type = "relu", name = "act"},
    {type = "relu"}, {type = "linear", name = "hidden", features = 3})"),
      "r.toml");
  std::vector<std::string> names;
  for (const LayerSpec& layer : recipe.network.layers) names.push_back(layer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"conv1", "relu1", "act", "relu3", "hidden",
                                             "max_pool2d1", "flatten1", "fc2"}));
}

TEST(ReadRecipe, FlatInputIsOneNumber) {
  const Recipe recipe = parse_recipe(small_recipe("[1, 28, 28]", "[784]"), "r.toml");
  EXPECT_EQ(recipe.network.input, (Shape{784, 1, 1}));
}

// They compute 16 samples side by side; batches of 32 would have micro-blocks of 4 otherwise.
TEST(ReadRecipe, MicroBlocksOfImagesHoldSixteenSamples) {
  const std::string images =
      "  {type = \"conv2d\", channels = 4, kernel = 3},\n  {type = \"relu\"},\n"
      "  {type = \"max_pool2d\", size = 2},\n";
  const auto block = [&](const std::string& layers) {
    return micro_block_size(parse_recipe(small_recipe(images, layers), "r.toml"), 32);
  };
  EXPECT_EQ(block(images), 16);
  EXPECT_EQ(block("{type = \"relu\"},\n"), 4);
  EXPECT_EQ(block("{type = \"upsample\", factor = 2},\n"), 16);
  EXPECT_EQ(block("{type = \"relu\"}, {type = \"concat\", inputs = [\"relu1\", \"input\"]},\n"),
            16);
  EXPECT_EQ(block("{type = \"flatten\", name = \"flat\"},\n"
                  "{type = \"concat\", inputs = [\"flat\", \"flat\"]},\n"),
            4);
}

TEST(ReadRecipe, MissingFileAndDirectory) {
  const test::TempDir folder;
  const std::filesystem::path missing = folder / "no.toml";
  try {
    read_recipe(missing);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), StartsWith(missing.string() + ": cannot be opened (No such file"));
    EXPECT_EQ(error.code(), ExitCode::bad_input);
  }
  try {
    read_recipe(folder.path());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is a directory"));
  }
}

// A restart may mend it: no mistake of the user.
TEST(ReadRecipe, FailuresOfTheSystem) {
  // The first page of a process is never there.
  test::expect_error([] { read_recipe("/proc/self/mem"); }, ExitCode::failure,
                     {"/proc/self/mem: cannot be read: Input/output error"});
  const test::TempDir folder;
  const std::string path = folder / "socket.toml";
  test::make_unopenable_file(path);
  test::expect_error([&] { read_recipe(path); }, ExitCode::failure,
                     {path + ": cannot be opened: ", test::kUnopenable});
}

TEST(ReadRecipe, ReadsAFile) {
  const test::TempDir folder;
  const std::filesystem::path path = folder / "good.toml";
  std::ofstream(path) << kSmallRecipe;
  EXPECT_EQ(read_recipe(path), parse_recipe(kSmallRecipe, "r.toml"));
}

TEST(ReadRecipe, GlobalBatchThatOverflowsIsRefused) {
  Recipe recipe;
  recipe.data.batch_per_rank = kMaxGlobalBatch;
  EXPECT_EQ(recipe.global_batch(1), kMaxGlobalBatch);
  EXPECT_THROW(recipe.global_batch(1024), InputError);
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "config/write_recipe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "config/toml_text.hpp"
#include "small_recipe.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(WriteRecipe, StatesEveryKeyThatApplies) {
  const std::string text = to_toml(parse_recipe(kSmallRecipe, "r.toml"));
  EXPECT_EQ(text, R"(name = "small"
seed = 0

[data]
source = "shards"
train = "shards"
test = ""
global_batch = 32
shuffle = true
target = "label"

[data.normalize]
type = "none"

[data.augment]
crop = 0
flip = false

[network]
input = [1, 28, 28]
layers = [
  {type = "conv2d", name = "conv1", channels = 4, kernel = 3, stride = 1, padding = 0, bias = true},
  {type = "relu", name = "relu1"},
  {type = "max_pool2d", name = "max_pool2d1", size = 2, stride = 2, padding = 0},
  {type = "flatten", name = "flatten1"},
  {type = "linear", name = "fc1", features = 10},
]

[network.init]
type = "default"

[loss]
type = "cross_entropy"

[optimizer]
type = "sgd"
lr = 0.1
momentum = 0.0
nesterov = false
weight_decay = 0.0
decay = "all"
clip_norm = 0.0

[optimizer.schedule]
type = "constant"
warmup_steps = 0

[train]
epochs = 1
patience = 0
monitor = "loss"
determinism = "rank-invariant"
precision = "fp32"
convolution = "direct"
micro_block = 0
recompute = false
log_every_steps = 50
per_rank_loss = false

[parallel]
backend = "auto"
strategy = "keys"
tensor = 1
tensor_slices = 0
pipeline = 1
cut = []
schedule = "1f1b"
micro_batches = 1
shard_optimizer = false
balance = false

[checkpoint]
every_epochs = 1
every_steps = 0
every_seconds = 0.0
keep = 3
keep_best = false
)");
}

TEST(WriteRecipe, ReadsBackAsAnEqualRecipe) {
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"data.batch_per_rank=7", "data.shuffle=false", "data.test=elsewhere"},
      {"data.augment={crop=14, flip=true}"},
      {"optimizer={type=\"adam\", lr=1e-3, betas=[0.1, 0.2], eps=1e-30}"},
      {"optimizer={type=\"adamw\", lr=3e-4, schedule={type=\"cosine\", min_lr=1e-9}}"},
      {"optimizer.schedule={type=\"step\", gamma=0.3, every_epochs=2}", "optimizer.momentum=0.1"},
      {"data={source=\"random\", samples=9007199254740993, global_batch=3, target=\"values\"}",
       "loss.type=mse", "network.init={type=\"normal\", std=0.1}"},
      {"name='quotes \" and \\ back'", "data.train=ünï/ко́д", "network.input=[5]"},
      {"network.layers.conv1.bias=false", "network.init=kaiming"},
      {"network.layers.fc1.bias=false", "loss.label_smoothing=0.1"},
      {"loss.class_weights=balanced"},
      {"loss.class_weights={type=\"given\", values=[0, 2.5, 1e-3]}"},
      {"data.target=\"input\"", "loss={type=\"huber\", delta=0.25}"},
      {"data.target=\"input\"", "loss=\"l1\""},
      {"data.target=\"values\"", "loss={type=\"binary_cross_entropy\", pos_weight=2.5}"},
      {"data.target=\"values\"", "loss={type=\"custom\", kind=\"pinball\"}"},
      {"optimizer.schedule={type=\"multi_step\", milestones=[3, 60, 90], warmup_epochs=2}"},
      {"optimizer.schedule={type=\"polynomial\", power=0.9, min_lr=1e-9}"},
      {"optimizer.schedule={type=\"exponential\", gamma=0.97}"},
      {"optimizer.schedule={type=\"plateau\", patience=3, gamma=0.5, min_lr=1e-5}",
       "data.test=elsewhere"},
      {"data.test=elsewhere", "train.patience=7", "train.monitor=\"accuracy\"",
       "checkpoint.keep_best=true"},
      {"network.layers.fc1={type=\"dropout\", p=0.3}", "seed=9223372036854775807"},
  };
  for (const auto& variant : variants) {
    const Recipe recipe = parse_recipe(kSmallRecipe, "r.toml", variant);
    const std::string text = to_toml(recipe);
    const Recipe again = parse_recipe(text, "resolved");
    EXPECT_EQ(again, recipe) << text;
    EXPECT_EQ(to_toml(again), text);
  }
}

TEST(WriteRecipe, StatesInputsWhereTheRecipeDoes) {
  const std::string text = small_recipe("  {type = \"flatten\"},\n",
                                        "  {type = \"tanh\", input = \"relu1\"},\n"
                                        "  {type = \"add\", inputs = [\"tanh1\", \"relu1\"]},\n"
                                        "  {type = \"flatten\"},\n");
  const Recipe recipe = parse_recipe(text, "r.toml");
  const std::vector<LayerSpec>& layers = recipe.network.layers;
  ASSERT_EQ(layers.size(), 7u);
  EXPECT_EQ(layers[0].inputs, std::vector<std::string>{});
  EXPECT_EQ(layers[3].inputs, std::vector<std::string>{"relu1"});
  EXPECT_EQ(layers[4].inputs, (std::vector<std::string>{"tanh1", "relu1"}));
  const std::string written = to_toml(recipe);
  EXPECT_NE(written.find("{type = \"tanh\", name = \"tanh1\", input = \"relu1\"}"),
            std::string::npos)
      << written;
  EXPECT_EQ(parse_recipe(written, "w.toml"), recipe);
  Recipe other = recipe;
  other.network.layers[3].inputs = {"conv1"};
  EXPECT_NE(other, recipe);
}

TEST(WriteRecipe, LeavesOutTheOtherWayToStateTheBatch) {
  Recipe recipe = parse_recipe(kSmallRecipe, "r.toml");
  EXPECT_THAT(to_toml(recipe), Not(HasSubstr("batch_per_rank")));
  recipe.data.global_batch = 0;
  recipe.data.batch_per_rank = 5;
  EXPECT_THAT(to_toml(recipe), Not(HasSubstr("global_batch")));
}

TEST(WriteRecipe, SizesAreExact) {
  for (const auto& [stated, written] :
       std::initializer_list<std::pair<const char*, const char*>>{{"2 GiB", "2 GiB"},
                                                                  {"1.5MiB", "1536 KiB"},
                                                                  {"150 KB", "150000 B"},
                                                                  {"4096 GiB", "4 TiB"},
                                                                  {"5000 TiB", "5000 TiB"}}) {
    const std::string key = "memory = \"" + std::string(stated) + "\"";
    const Recipe recipe =
        parse_recipe(small_recipe("global_batch = 32", "global_batch = 32\n" + key), "r.toml");
    EXPECT_THAT(to_toml(recipe), HasSubstr("\nmemory = \"" + std::string(written) + "\"\n"));
    EXPECT_EQ(parse_recipe(to_toml(recipe), "r.toml"), recipe);
  }
}

TEST(TomlText, DoublesAreShortAndExact) {
  EXPECT_EQ(to_toml_text(0.1), "0.1");
  EXPECT_EQ(to_toml_text(1.0), "1.0");
  EXPECT_EQ(to_toml_text(1e-8), "1e-08");
  EXPECT_EQ(to_toml_text(0.0), "0.0");
  std::mt19937_64 random(0);
  for (int i = 0; i < 200; ++i) {
    const double lr =
        std::ldexp(static_cast<double>(random() | 1), -64 - static_cast<int>(random() % 60));
    const Recipe recipe =
        parse_recipe(kSmallRecipe, "r.toml", std::vector{"optimizer.lr=" + to_toml_text(lr)});
    EXPECT_EQ(recipe.optimizer.lr, lr);
  }
}

TEST(TomlText, StringsAreEscaped) {
  EXPECT_EQ(to_toml_text(std::string_view("a\"b\\c\n\x7f")), R"("a\"b\\c\u000A\u007F")");
}

TEST(WriteRecipe, NamesTheFirstKeyThatDiffers) {
  const auto entries = [](const std::string& before, const std::string& after) {
    return entries_of(parse_recipe(small_recipe(before, after), "r.toml"));
  };
  const std::vector<RecipeEntry> usual = entries("lr", "lr");
  const auto difference = [&](const std::string& before, const std::string& after) {
    return first_difference(entries(before, after), usual, "there");
  };
  EXPECT_EQ(difference("lr", "lr"), "");
  EXPECT_EQ(difference("lr = 0.1", "lr = 0.5"), "optimizer.lr is 0.5, and 0.1 there");
  EXPECT_EQ(difference("kernel = 3", "kernel = 5"), "network.layers[0].kernel is 5, and 3 there");
  EXPECT_EQ(difference("{type = \"relu\"}", "{type = \"tanh\"}"),
            "network.layers[1].type is \"tanh\", and \"relu\" there");
  // A key that only one of them states.
  EXPECT_EQ(difference("train = \"shards\"", "train = \"shards\"\nmemory = \"1 GiB\""),
            "data.memory is \"1 GiB\", and (not stated) there");
  EXPECT_EQ(
      first_difference(
          usual, entries("train = \"shards\"", "train = \"shards\"\nmemory = \"1 GiB\""), "there"),
      "data.memory is (not stated), and \"1 GiB\" there");
  EXPECT_EQ(difference("  {type = \"linear\", features = 10},\n",
                       "  {type = \"linear\", features = 10},\n  {type = \"relu\"},\n"),
            "network.layers[5].type is \"relu\", and (not stated) there");
}

}  // namespace
}  // namespace quern

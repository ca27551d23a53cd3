// SPDX-License-Identifier: Apache-2.0
#include "config/recipe_change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_recipe.hpp"

namespace quern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RecipeChange, SettingsOfTheOptimizerAndWhatMayChangeAnyway) {
  for (const char* key :
       {"optimizer.lr", "optimizer.betas", "optimizer.schedule", "optimizer.schedule.gamma",
        "train.epochs", "train.patience", "checkpoint", "name", "data.train"})
    EXPECT_EQ(change_problem(key), "") << key;
}

TEST(RecipeChange, AllElseStays) {
  for (const char* key : {"seed", "data", "data.global_batch", "network", "network.layers",
                          "network.layers.conv1.channels", "loss.type", "optimizer",
                          "optimizer.type", "train", "train.determinism"})
    EXPECT_THAT(change_problem(key), HasSubstr("cannot change in a run that is resumed")) << key;
}

TEST(RecipeChange, UnknownKeysAreNamedWithTheNearest) {
  EXPECT_EQ(change_problem("optimizer.lrr"), "unknown key (did you mean 'optimizer.lr'?)");
  EXPECT_EQ(change_problem("lr"), "unknown key (did you mean 'optimizer.lr'?)");
  EXPECT_EQ(change_problem("optimizer.wd"), "unknown key (did you mean 'optimizer.weight_decay'?)");
  EXPECT_EQ(change_problem("learning_rate"), "unknown key (did you mean 'optimizer.lr'?)");
  EXPECT_EQ(change_problem("train.lr"), "unknown key (did you mean 'optimizer.lr'?)");
  EXPECT_THAT(change_problem("x"), HasSubstr("unknown key (known: name, "));
  EXPECT_THAT(change_problem("opt"), HasSubstr("unknown key"));
}

TEST(RecipeChange, KeysOfTables) {
  const std::vector<std::string> changes = {"optimizer.lr = 1", "optimizer[schedule]=step", "x"};
  const std::vector<std::string> keys = changed_keys(changes);
  EXPECT_THAT(keys, ElementsAre("optimizer.lr", "optimizer.schedule", ""));
  EXPECT_TRUE(is_among("optimizer.lr", keys));
  EXPECT_TRUE(is_among("optimizer.schedule.type", keys));
  EXPECT_FALSE(is_among("optimizer.schedules", keys));
  EXPECT_FALSE(is_among("optimizer", keys));
  EXPECT_FALSE(is_among("optimizer.type", keys));
}

TEST(RecipeChange, ComesAfterSet) {
  const std::vector<std::string> sets = {"optimizer.lr=0.2", "train.epochs=3"};
  const std::vector<std::string> changes = {"optimizer.lr=0.3", "optimizer.schedule=step"};
  const Recipe recipe = parse_recipe(kSmallRecipe, "r.toml", sets, changes);
  EXPECT_EQ(recipe.optimizer.lr, 0.3);
  EXPECT_EQ(recipe.train.epochs, 3);
  EXPECT_EQ(recipe.optimizer.schedule.type, ScheduleType::step);
}

TEST(RecipeChange, ProblemsNameTheOption) {
  const auto problems = [](const std::vector<std::string>& changes) -> std::string {
    try {
      parse_recipe(kSmallRecipe, "r.toml", std::vector<std::string>{"optimizer.lr=-2"}, changes);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(lines_of(problems({})), 0);
  EXPECT_THAT(problems({}), HasSubstr("--set: optimizer.lr: "));
  EXPECT_THAT(problems({"optimizer.lr=-1"}), HasSubstr("--change: optimizer.lr: "));
  EXPECT_THAT(problems({"seed=1"}), HasSubstr("--change: seed: cannot change"));
  EXPECT_THAT(problems({"seed"}), HasSubstr("--change: 'seed' has no '=', expected"));
  EXPECT_THAT(problems({"optimizer.decay=all2"}), HasSubstr("--change: optimizer.decay: "));
}

}  // namespace
}  // namespace quern

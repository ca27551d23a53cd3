// SPDX-License-Identifier: Apache-2.0
// Every value of an enumeration can be stated in a recipe, and is written as it was stated.
#include "spec/words.hpp"

#include <gtest/gtest.h>

#include "config/layer_keys.hpp"
#include "config/recipe_keys.hpp"
#include "config/table_keys.hpp"
#include "support/expect_error.hpp"

namespace quern {
namespace {

template <class Enum, class Target>
void expect_written_as_words(const Key<Target>& key, Target& target, Enum& value) {
  EXPECT_GE(words_of<Enum>().size(), 2u);
  for (const auto& [word, of_word] : words_of<Enum>()) {
    value = of_word;
    EXPECT_EQ(key.write(target), '"' + word + '"');
    EXPECT_NE(key.expected.find('"' + word + '"'), std::string::npos) << key.expected;
  }
}

TEST(Words, AreThoseOfTheKeys) {
  LayerSpec layer;
  expect_written_as_words(find_key(layer_keys(), "type"), layer, layer.type);
  Recipe recipe;
  const auto key = [](const char* path) -> const Key<Recipe>& {
    return find_key(recipe_keys(), path);
  };
  expect_written_as_words(key("loss.type"), recipe, recipe.loss.type);
  expect_written_as_words(key("optimizer.type"), recipe, recipe.optimizer.type);
  expect_written_as_words(key("optimizer.schedule.type"), recipe, recipe.optimizer.schedule.type);
  expect_written_as_words(key("train.precision"), recipe, recipe.train.precision);
  expect_written_as_words(key("train.monitor"), recipe, recipe.train.monitor);
}

TEST(Words, EndWithTheLastValue) {
  EXPECT_EQ(words_of<LayerType>().back(), std::pair(std::string("custom"), LayerType::custom));
  EXPECT_EQ(words_of<Monitor>(), (std::vector<std::pair<std::string, Monitor>>{
                                     {"loss", Monitor::loss}, {"accuracy", Monitor::accuracy}}));
}

// A resolved recipe would lose the key, and a run that is resumed take the default.
TEST(Words, OfWhatStandsForNothingAreRefused) {
  std::vector<Key<LayerSpec>> list;
  TableKeys keys(
      list, "", [](auto& layer) -> auto& { return layer; });
  const Key<LayerSpec>& key =
      keys.choice("statistics", &LayerSpec::statistics, {{"block", Statistics::block}}, "");
  test::expect_error(
      [&] { key.write({}); }, ExitCode::bad_input,
      {"the recipe: statistics: a number that stands for nothing, expected \"block\""});
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Tests that look at every kernel of a step run step_recipes(): what these leave out, they never
// see.
#include "support/step_recipes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "spec/words.hpp"

namespace quern::test {
namespace {

template <class Enum, class Has>
void expect_each(const Has& has) {
  const auto recipes = step_recipes();
  for (const auto& [word, type] : words_of<Enum>()) {
    if (word == "custom") continue;  // of a C++ program
    EXPECT_TRUE(std::ranges::any_of(
        recipes, [&, wanted = type](const Recipe& recipe) { return has(recipe, wanted); }))
        << word << " is in none of step_recipes()";
  }
}

TEST(StepRecipes, HaveEveryTypeOfLayerLossAndOptimizer) {
  expect_each<LayerType>([](const Recipe& recipe, LayerType type) {
    const auto& layers = recipe.network.layers;
    return std::ranges::find(layers, type, &LayerSpec::type) != layers.end();
  });
  expect_each<LossType>(
      [](const Recipe& recipe, LossType type) { return recipe.loss.type == type; });
  expect_each<OptimizerType>(
      [](const Recipe& recipe, OptimizerType type) { return recipe.optimizer.type == type; });
}

}  // namespace
}  // namespace quern::test

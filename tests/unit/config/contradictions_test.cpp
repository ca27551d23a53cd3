// SPDX-License-Identifier: Apache-2.0
// What a recipe is told whose keys contradict each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "small_recipe.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;

TEST(Contradictions, MseWithAStatedLabel) {
  const std::string mse = small_recipe("\"cross_entropy\"", "\"mse\"");
  EXPECT_EQ(error_of(replaced(mse, "[data]\n", "[data]\ntarget = \"label\"\n")),
            "r.toml:4: data.target: \"label\" contradicts loss.type = \"mse\", expected \"input\" "
            "or \"values\"");
}

TEST(Contradictions, ProbabilitiesThatAreNormalized) {
  const auto with = [](const std::string& keys) {
    return error_of(replaced(small_recipe("\"cross_entropy\"", "\"binary_cross_entropy\""),
                             "[data]\n", "[data]\n" + keys + "\n"));
  };
  const std::string contradicts =
      ": contradicts loss.type = \"binary_cross_entropy\", whose targets are from 0 to 1, expected "
      "\"none\"";
  EXPECT_EQ(with("normalize = \"dataset\"\ntarget = \"input\""),
            "r.toml:4: data.normalize" + contradicts);
  EXPECT_EQ(with("normalize_targets = \"dataset\"\ntarget = \"values\""),
            "r.toml:4: data.normalize_targets" + contradicts);
  EXPECT_EQ(with("normalize = \"dataset\"\ntarget = \"values\""), "");
}

TEST(Contradictions, AWindowOfAnOrderThatIsNotShuffled) {
  const std::string unshuffled = "global_batch = 32\nshuffle = false\nwindow = 100";
  EXPECT_EQ(error_of(small_recipe("global_batch = 32", unshuffled)),
            "r.toml:7: data.window: 100 contradicts data.shuffle = false, expected none, or true");
  EXPECT_EQ(error_of(small_recipe("global_batch = 32", "global_batch = 32\nwindow = 100")), "");
}

TEST(Contradictions, WhatCannotBeAugmented) {
  const auto with = [](const std::string& augment, const std::string& text = kSmallRecipe) {
    return error_of(replaced(text, "[data]\n", "[data]\naugment = " + augment + "\n"));
  };
  EXPECT_EQ(
      with("{crop = 15}"),
      "r.toml:4: data.augment.crop: 15 is too large for images of 28 x 28 pixels, expected at "
      "most half of the smaller side, 14");
  for (const std::string shape : {"28, 20", "20, 28"}) {
    const std::string oblong = small_recipe("28, 28", shape);
    EXPECT_EQ(with("{crop = 10}", oblong), "");
    EXPECT_THAT(with("{crop = 11}", oblong), HasSubstr("at most half of the smaller side, 10"));
  }
  EXPECT_EQ(with("{crop = -1, flip = 1}"),
            "r.toml:4: data.augment.crop: -1 is out of range, expected an integer >= 0\n"
            "r.toml:4: data.augment.flip: found an integer, expected true or false");
  const std::string mse = small_recipe("type = \"cross_entropy\"", "type = \"mse\"");
  EXPECT_EQ(with("{flip = true}\ntarget = \"input\"", mse),
            "r.toml:4: data.augment.flip: true contradicts data.target = \"input\": what comes out "
            "would be compared with the altered image (expected 0 and false)");
}

TEST(Contradictions, MicroBatchesAndStatisticsOverTheGlobalBatch) {
  const auto with = [](const std::string& norm) {
    return error_of(small_recipe("  {type = \"flatten\"},\n", norm + "  {type = \"flatten\"},\n") +
                    "[parallel]\nmicro_batches = 2\n");
  };
  EXPECT_EQ(with("  {type = \"batch_norm\"},\n"),
            "r.toml:25: parallel.micro_batches: 2 contradicts statistics = \"global\" of layer "
            "'bn1', which needs all activations of a batch at once, expected 1, or statistics = "
            "\"block\" or \"running\"");
  const std::string fine =
      small_recipe(
          "  {type = \"flatten\"},\n",
          "  {type = \"batch_norm\", statistics = \"block\"},\n  {type = \"flatten\"},\n") +
      "[parallel]\nmicro_batches = 2\n";
  EXPECT_EQ(parse_recipe(fine, "r.toml").parallel.micro_batches, 2);
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "config/nearest_name.hpp"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(EditDistance, CountsLettersToChange) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("momentum", "momentum"), 0);
}

TEST(EditDistance, SwappedNeighboursAreOneChange) {
  EXPECT_EQ(edit_distance("khernel", "kehrnel"), 1);
  EXPECT_EQ(edit_distance("ab", "ba"), 1);
}

TEST(EditDistance, IgnoresCase) {
  EXPECT_EQ(edit_distance("LR", "lr"), 0);
}

TEST(NearestName, FindsTheMisspeltName) {
  const std::vector<std::string> known = {"channels", "kernel", "stride", "padding", "p"};
  EXPECT_EQ(nearest_name("chanels", known), "channels");
  EXPECT_EQ(nearest_name("kernel_size", known), "");
  EXPECT_EQ(nearest_name("strides", known), "stride");
  EXPECT_EQ(nearest_name("x", known), "");
}

TEST(NearestName, PrefersTheNearerOfTwo) {
  EXPECT_EQ(nearest_name("every_step", {"every_epochs", "every_steps"}), "every_steps");
}

TEST(NearestName, LongNonsenseIsNotCompared) {
  EXPECT_EQ(nearest_name(std::string(100000, 'a'), {std::string(100000, 'a')}), "");
}

TEST(SuggestName, ListsWhatIsKnownWhenNothingIsNear) {
  EXPECT_EQ(suggest_name("batch", {"train", "test"}), "(known: train, test)");
  EXPECT_EQ(suggest_name("tset", {"train", "test"}), "(did you mean 'test'?)");
}

TEST(SuggestName, CutsALongList) {
  std::vector<std::string> known;
  for (int i = 100; i < 200; ++i) known.push_back("layer" + std::to_string(i));
  const std::string text = suggest_name("stem", known);
  EXPECT_EQ(text.substr(0, 26), "(known: layer100, layer101");
  EXPECT_EQ(text.substr(text.size() - 23), ", layer123 and 76 more)") << text;
}

}  // namespace
}  // namespace quern

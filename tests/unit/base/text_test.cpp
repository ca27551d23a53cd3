// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <gtest/gtest.h>

namespace quern {
namespace {

using Texts = std::vector<std::string>;

TEST(Text, LinesComeBack) {
  for (const Texts& texts : {Texts{}, Texts{"cat"}, Texts{"cat", "", "a, \"b\"", "grüße"}})
    EXPECT_EQ(split_lines(join_lines(texts)), texts);
  EXPECT_EQ(join_lines({"cat", "dog"}), "cat\ndog");
  EXPECT_EQ(split_lines("cat\ndog\n"), (Texts{"cat", "dog"}));
}

TEST(Text, LowersLettersOfAsciiAlone) {
  EXPECT_EQ(lower_case("T-1.CSV_\xc3\x9c"), "t-1.csv_\xc3\x9c");
}

}  // namespace
}  // namespace quern

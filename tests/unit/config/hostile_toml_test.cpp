// SPDX-License-Identifier: Apache-2.0
// Text that is no recipe, or wants to do harm: an InputError, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "config/write_recipe.hpp"
#include "small_recipe.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(HostileToml, SyntaxErrorsHaveLineAndColumn) {
  EXPECT_THAT(error_of("name = \"x\"\nseed = = 3\n"), StartsWith("r.toml:2:8: "));
  EXPECT_THAT(error_of("name = \"x"), StartsWith("r.toml:1:"));
  EXPECT_THAT(error_of("a = 1\na = 2\n"), HasSubstr("cannot redefine"));
  EXPECT_THAT(error_of("[data]\n[data]\n"), StartsWith("r.toml:2:"));
}

TEST(HostileToml, BytesThatAreNotText) {
  EXPECT_THAT(error_of(std::string("seed = 1\0name = 2", 17)), StartsWith("r.toml:1:9: "));
  EXPECT_THAT(error_of("name = \"\xff\xfe\""), HasSubstr("utf-8"));
  EXPECT_THAT(error_of(std::string("\x89HDF\r\n\x1a\n", 8)), StartsWith("r.toml:1:1: "));
  EXPECT_NE(error_of(std::string(100, '\0')), "");
}

TEST(HostileToml, NoEscapeSequenceReachesATerminal) {
  for (const std::string text :
       {"\x1b[2J = 1", "seed = \x1b[2J", "seed = 1 \x1b[2J", "# \x1b[2J\xff"})
    EXPECT_THAT(error_of(text), ::testing::Not(HasSubstr("\x1b"))) << text;
  EXPECT_THAT(error_of("\"\\u001B[2J\" = 1"), HasSubstr("\\x1b[2J"));
}

TEST(HostileToml, HugeNumbers) {
  EXPECT_THAT(error_of("seed = 99999999999999999999999"), StartsWith("r.toml:1:"));
  EXPECT_THAT(error_of("seed = -9223372036854775808"), HasSubstr("seed: -9223372036854775808 is"));
  EXPECT_LT(error_of("seed = " + repeated("9", 1000000)).size(), 1000u);
}

TEST(HostileToml, DeepNesting) {
  EXPECT_THAT(error_of("a = " + repeated("[", 100000)), HasSubstr("nested"));
  EXPECT_THAT(error_of("a = " + repeated("{a=", 100000)), HasSubstr("nested"));
}

TEST(HostileToml, DeepDottedKeys) {
  const std::string deep = repeated("a.", 500000) + "a";
  const std::string expected = "a key of more than 16 dotted parts";
  EXPECT_EQ(error_of("\n" + deep + " = 1"), "r.toml:2:1: " + expected);
  EXPECT_THAT(error_of("[" + deep + "]"), HasSubstr(expected));
  EXPECT_THAT(error_of("x = {" + deep + " = 1}"), HasSubstr(expected));
  EXPECT_THAT(error_of(repeated("\"a\" . ", 100000) + "a = 1"), HasSubstr(expected));
  for (const std::string hidden : {"x = \"\\\"\"\n", "x = '\\'\n", "x = \"\"\"\"a\"\"\"\"\"\n",
                                   "x = '''a''''\n", "# \" '\n", "x = \"\"\n", "x = \"a # b\"\n"}) {
    EXPECT_THAT(error_of(hidden + deep + " = 1"), HasSubstr(expected)) << hidden;
  }
  EXPECT_THAT(error_of("x = [\"\\\"\", {" + deep + " = 1}]"), HasSubstr(expected));
  EXPECT_THAT(error_of("x = ['''a'''', {" + deep + " = 1}]"), HasSubstr(expected));
}

TEST(HostileToml, DotsInStringsAndCommentsAreNoKeys) {
  const std::string dots(1000, '.');
  EXPECT_EQ(error_of("# " + dots + "\n" + small_recipe("\"shards\"", "\"" + dots + "\"")), "");
  EXPECT_EQ(error_of(small_recipe("\"shards\"", "'" + dots + "'")), "");
  EXPECT_EQ(error_of(small_recipe("\"shards\"", "\"\"\"" + dots + "\"\"\" # '")), "");
}

TEST(HostileToml, DeepestTreeThatIsReadIsFreed) {
  const std::string key = repeated("a.", 15) + "a";
  std::string text = key + " = ";
  for (int i = 0; i < 250; ++i) text += "{" + key + " = ";
  text += "1" + std::string(250, '}');
  EXPECT_NE(error_of(text), "");
}

TEST(HostileToml, MixedArraysAndTablesInTheWrongPlace) {
  EXPECT_EQ(error_of(small_recipe("{type = \"relu\"}", "[1, \"a\", {}], 1979-05-27T07:32:00Z")),
            "r.toml:11: network.layers[1]: found an array, expected a table such as {type = "
            "\"relu\"}\n"
            "r.toml:11: network.layers[2]: found a date-time, expected a table such as {type = "
            "\"relu\"}");
  EXPECT_THAT(error_of("[[optimizer]]\nlr = 1\n"), HasSubstr("optimizer: found an array"));
  EXPECT_THAT(error_of("network.layers = []\n"), HasSubstr("network.layers: is empty"));
  EXPECT_THAT(error_of("network.layers.x = 1\n"), HasSubstr("network.layers: found a table"));
}

TEST(HostileToml, ALongListOfProblemsIsCutShort) {
  std::string text;
  for (int i = 0; i < 60000; ++i) text += "key" + std::to_string(i) + " = 1\n";
  const std::string error = error_of(text);
  EXPECT_EQ(lines_of(error), 30);
  EXPECT_THAT(error, HasSubstr("more problems"));
  EXPECT_LT(error_of("\"" + repeated("\\u001B", 10000) + "\" = 1").size(), 2000u);
}

TEST(HostileToml, MutatedRecipesAreReadOrRefused) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = kSmallRecipe;
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(text.size());
      const std::size_t length = std::min(below(12), text.size() - at);
      if (below(2) == 0) {
        text.insert(at, kSmallRecipe, below(kSmallRecipe.size()), length);
      } else {
        text.replace(at, length, 1, static_cast<char>(below(256)));
      }
    }
    try {
      const Recipe recipe = parse_recipe(text, "r.toml");
      EXPECT_EQ(parse_recipe(to_toml(recipe), "resolved"), recipe) << text;
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3000);
}

TEST(HostileToml, MoreThanAMebibyteIsRefused) {
  EXPECT_EQ(error_of(kSmallRecipe + "#" + std::string((1 << 20) - kSmallRecipe.size() - 1, ' ')),
            "");
  EXPECT_THAT(error_of(std::string((1 << 20) + 1, ' ')), HasSubstr("larger than 1 MiB"));
  const test::TempDir folder;
  const std::filesystem::path path = folder / "huge.toml";
  std::ofstream(path).close();
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  try {
    read_recipe(path);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(),
              path.string() + ": is larger than 1 MiB, expected a recipe (a short TOML file)");
  }
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "comm/launch_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/agree.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;
using testing::world;

TEST(SameProgram, AcceptsEqualHashesAndThisProgram) {
  EXPECT_NO_THROW(check_same_program(world(), "0123"));
  EXPECT_NO_THROW(check_same_program(world()));
}

TEST(SameProgram, NamesTheRankThatDiffers) {
  const int size = world().size();
  if (size < 3) GTEST_SKIP() << "a majority needs three ranks";
  for (int odd = 0; odd < size; ++odd) {
    const std::string hash = world().rank() == odd ? "ffffeeee" : "00001111";
    try {
      check_same_program(world(), hash);
      ADD_FAILURE() << "accepted";
    } catch (const AgreedError& e) {
      EXPECT_EQ(e.code(), ExitCode::bad_input);
      EXPECT_THAT(e.what(),
                  HasSubstr("executable) is not the same on all ranks: rank " +
                            std::to_string(odd) + " on " + world().host(odd) + " has ffffeeee ("));
      EXPECT_THAT(e.what(), HasSubstr(std::to_string(size - 1) + " ranks"));
    }
  }
}

TEST(SameProgram, WithoutAMajorityRankZeroIsTheMeasure) {
  const int size = world().size();
  if (size < 2) GTEST_SKIP() << "one rank cannot differ";
  try {
    check_same_program(world(), std::to_string(world().rank()));
    ADD_FAILURE() << "accepted";
  } catch (const AgreedError& e) {
    EXPECT_THAT(e.what(), HasSubstr("rank 1 on "));
    EXPECT_THAT(e.what(), HasSubstr("(1 rank, the first on "));
    // Eight are named.
    const std::string others = size > 9 ? " and " + std::to_string(size - 9) + " more differ" : "";
    const std::string last = std::to_string(std::min(size - 1, 8));
    EXPECT_THAT(e.what(), HasSubstr("rank " + last + " on " + world().host(0) + " has " + last +
                                    others + " ("));
  }
}

TEST(SameCommand, NamesTheWordThatDiffers) {
  const std::vector<std::string> usual = {"train", "a.toml", "--set", "seed=0"};
  EXPECT_NO_THROW(check_same_command(world(), usual));
  const int size = world().size();
  if (size == 1) return;  // which cannot differ
  std::vector<std::string> words = usual;
  if (world().rank() == size - 1) words.back() = "seed=1";
  try {
    check_same_command(world(), words);
    ADD_FAILURE() << "accepted";
  } catch (const AgreedError& e) {
    EXPECT_EQ(e.code(), ExitCode::bad_input);
    EXPECT_THAT(e.what(),
                HasSubstr("rank " + std::to_string(size - 1) + " on " + world().host(size - 1) +
                          " has 'seed=1' where rank 0 has 'seed=0' ("));
  }
}

TEST(SameCommand, AWordMoreOrLessIsADifferenceToo) {
  std::vector<std::string> words = {"train", "a.toml"};
  if (world().rank() > 0) words.emplace_back("--dry-run");
  try {
    check_same_command(world(), words);
    EXPECT_EQ(world().size(), 1) << "accepted";
  } catch (const AgreedError& e) {
    EXPECT_THAT(e.what(), HasSubstr(" has '--dry-run' where rank 0 has nothing"));
    const int others = world().size() - 2;
    EXPECT_EQ(std::string(e.what()).find("and so do others") != std::string::npos, others > 0);
  }
}

TEST(SameCommand, ThisProcessHasTheWordsItWasStartedWith) {
  EXPECT_NO_THROW(check_same_command(world(), words_of_this_process()));
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "comm/check_same.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/expect_error.hpp"
#include "support/world.hpp"

namespace quern::test {

using quern::testing::world;

namespace {

std::string refusal(int rank, const std::string& words) {
  return "rank " + std::to_string(rank) + " on " + world().host(rank) + ": the mesh: " + words +
         " (expected the same on all ranks)";
}

}  // namespace

TEST(CheckSame, AcceptsWhatAllRanksBring) {
  EXPECT_NO_THROW(check_same(world(), "the mesh", ""));
  EXPECT_NO_THROW(check_same(world(), "the mesh", "a [1]\nb [2]"));
}

TEST(CheckSame, NamesTheLowestRankAndTheLineThatDiffers) {
  if (world().size() == 1) return;
  const int rank = world().rank();
  const auto with = [&](const std::string& theirs) {
    return [&, theirs] {
      check_same(world(), "the mesh", rank == 0 ? "a [1]\nb [2]\nc [3]" : theirs);
    };
  };
  const std::string from = ", and on rank 0 ";
  expect_error(with("a [1]\nb [4]\nc [3]"), ExitCode::bad_input,
               {refusal(1, "b [4]" + from + "b [2]")});
  // Where one of the lines ends.
  expect_error(with("a [1]\nb [2]4\nc [3]"), ExitCode::bad_input,
               {refusal(1, "b [2]4" + from + "b [2]")});
  expect_error(with("a [1]\nb [\nc [3]"), ExitCode::bad_input,
               {refusal(1, "b [" + from + "b [2]")});
  expect_error(with("x [1]\nb [2]\nc [3]"), ExitCode::bad_input,
               {refusal(1, "x [1]" + from + "a [1]")});
  expect_error(with("a [1]\nb [2]\nc [3]1"), ExitCode::bad_input,
               {refusal(1, "c [3]1" + from + "nothing")});
  expect_error(with(""), ExitCode::bad_input, {refusal(1, "nothing" + from + "a [1]")});
}

}  // namespace quern::test

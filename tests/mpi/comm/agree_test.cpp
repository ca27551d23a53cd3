// SPDX-License-Identifier: Apache-2.0
#include "comm/agree.hpp"

#include <gtest/gtest.h>

#include <new>
#include <string>

#include "support/world.hpp"

namespace quern {
namespace {

using testing::world;

// What agree() throws on this rank, or an empty message.
template <class Work>
std::pair<std::string, ExitCode> thrown_by(Work&& work) {
  try {
    agree(world(), work);
  } catch (const AgreedError& e) {
    return {e.what(), e.code()};
  }
  return {"", ExitCode::done};
}

std::string speaker(int rank) {
  return world().size() == 1 ? ""
                             : "rank " + std::to_string(rank) + " on " + world().host(rank) + ": ";
}

TEST(Agree, ReturnsEachRanksOwnResult) {
  EXPECT_EQ(agree(world(), [] { return 10 + world().rank(); }), 10 + world().rank());
  bool ran = false;
  agree(world(), [&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(Agree, ReturnsWhatCannotBeCopied) {
  const auto pointer = agree(world(), [] { return std::make_unique<int>(3); });
  EXPECT_EQ(*pointer, 3);
}

TEST(Agree, EveryFailingRankIsHeardByAll) {
  for (int failing = 0; failing < world().size(); ++failing) {
    const auto [message, code] = thrown_by([&] {
      if (world().rank() == failing) throw InputError("no such file 'a'");
    });
    EXPECT_EQ(message, speaker(failing) + "no such file 'a'");
    EXPECT_EQ(code, ExitCode::bad_input);
  }
}

TEST(Agree, TheLowestOfSeveralFailuresSpeaks) {
  const int first = world().size() / 2;
  const auto [message, code] = thrown_by([&] {
    if (world().rank() >= first) throw UnusableError("on " + std::to_string(world().rank()));
  });
  EXPECT_EQ(message, speaker(first) + "on " + std::to_string(first));
  EXPECT_EQ(code, ExitCode::do_not_requeue);
}

TEST(Agree, WhatAllRanksSayNeedsNoSpeaker) {
  const auto [message, code] = thrown_by([] { throw InputError("the same everywhere"); });
  EXPECT_EQ(message, "the same everywhere");
  EXPECT_EQ(code, ExitCode::bad_input);
}

TEST(Agree, ExceptionsThatAreNotOursCountToo) {
  const int last = world().size() - 1;
  const auto [message, code] = thrown_by([&] {
    if (world().rank() == last) throw std::bad_alloc();
  });
  EXPECT_EQ(message, speaker(last) + "out of memory");
  EXPECT_EQ(code, ExitCode::failure);
  EXPECT_EQ(thrown_by([&] {
              if (world().rank() == last) throw 3;
            }).first,
            speaker(last) + "unknown exception");
}

TEST(Agree, NestedErrorsPassThrough) {
  const auto [message, code] = thrown_by([] {
    agree(world(), [] {
      if (world().rank() == 0) throw InputError("inner");
    });
  });
  EXPECT_EQ(message, speaker(0) + "inner");
  EXPECT_EQ(code, ExitCode::bad_input);
}

TEST(Agree, SharedMemoryInScopeDoesNotHang) {
  EXPECT_NE(thrown_by([] {
              const auto shared = world().allocate_node_shared(64);
              agree(world(), [] { throw InputError("all"); });
            }).first,
            "");
  const auto again = world().allocate_node_shared(64);
  EXPECT_EQ(again->bytes().size(), 64u);
}

}  // namespace
}  // namespace quern

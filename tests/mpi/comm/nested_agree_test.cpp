// SPDX-License-Identifier: Apache-2.0
// What some groups of ranks agree on, and others do not hear of: the world agrees on it, too.
// Without that these tests do not end.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "support/world.hpp"

namespace quern {
namespace {

using testing::world;

// The ranks in groups of two neighbours, of which the last one may be alone.
class NestedAgree : public ::testing::Test {
 protected:
  int last() const { return world().size() - 1; }
  int last_group() const { return last() / 2; }
  bool is_in_last_group() const { return world().rank() / 2 == last_group(); }

  // What all ranks of the world throw, or an empty message.
  template <class Work>
  std::pair<std::string, ExitCode> thrown_by(Work&& work) {
    std::string message;
    ExitCode code = ExitCode::done;
    try {
      agree(world(), work);
    } catch (const AgreedError& error) {
      message = error.what();
      code = error.code();
    }
    for (const std::string& other : all_gather_strings(world(), message)) EXPECT_EQ(other, message);
    return {message, code};
  }

  std::string speaker(int rank) const {
    if (world().size() == 1) return "";
    return "rank " + std::to_string(rank) + " on " + world().host(rank) + ": ";
  }

  std::unique_ptr<Communicator> group_ = world().split(world().rank() / 2);
};

TEST_F(NestedAgree, ARankOfOneGroupFails) {
  for (int failing = 0; failing < world().size(); ++failing) {
    const auto [message, code] = thrown_by([&] {
      agree(*group_, [&] {
        if (world().rank() == failing) throw InputError("no device");
      });
      group_->barrier();
    });
    EXPECT_EQ(message, speaker(failing) + "no device");
    EXPECT_EQ(code, ExitCode::bad_input);
  }
}

TEST_F(NestedAgree, OneGroupFailsAlike) {
  const auto [message, code] = thrown_by([&] {
    agree(*group_, [&] {
      if (is_in_last_group()) throw UnusableError("damaged");
    });
  });
  EXPECT_EQ(message, (last_group() == 0 ? "" : speaker(last_group() * 2)) + "damaged");
  EXPECT_EQ(code, ExitCode::do_not_requeue);
}

TEST_F(NestedAgree, TheRootOfOneGroupFails) {
  const auto [message, code] = thrown_by([&] {
    run_on_root(*group_, [&] {
      if (is_in_last_group()) throw InputError("no folder");
    });
  });
  EXPECT_EQ(message, (last_group() == 0 ? "" : speaker(last_group() * 2)) + "no folder");
  EXPECT_EQ(code, ExitCode::bad_input);
}

TEST_F(NestedAgree, AGroupHearsOfAFailureElsewhere) {
  std::string message;
  try {
    agree(*group_, [&] {
      agree(world(), [&] {
        if (world().rank() == last()) throw InputError("the last one");
      });
    });
  } catch (const AgreedError& error) {
    message = error.what();
    EXPECT_EQ(error.code(), ExitCode::bad_input);
  }
  EXPECT_NE(message.find("the last one"), std::string::npos) << message;
}

TEST_F(NestedAgree, NobodyFails) {
  EXPECT_EQ(thrown_by([&] { agree(*group_, [] {}); }).first, "");
}

}  // namespace
}  // namespace quern

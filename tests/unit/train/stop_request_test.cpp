// SPDX-License-Identifier: Apache-2.0
#include "train/stop_request.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "support/temp_dir.hpp"

namespace quern::test {

TEST(StopRequest, SignalsAreRemembered) {
  for (const auto& [signal, name] :
       {std::pair(SIGUSR1, "SIGUSR1"), std::pair(SIGTERM, "SIGTERM")}) {
    StopRequest stop("");
    EXPECT_FALSE(stop.is_set()) << "a request of the past does not count";
    std::raise(signal);
    EXPECT_TRUE(stop.is_set());
    EXPECT_EQ(stop.reason(), name);
  }
}

TEST(StopRequest, NobodyAskedThisRank) {
  StopRequest stop("");
  EXPECT_FALSE(stop.is_set());
  EXPECT_EQ(stop.reason(), "another rank");
}

TEST(StopRequest, FileThatIsThereIsSeenAtTheFirstLook) {
  const TempDir dir;
  std::ofstream(dir / "STOP") << "";
  StopRequest stop(dir / "STOP");
  EXPECT_TRUE(stop.is_set());
  EXPECT_EQ(stop.reason(), "the file " + (dir / "STOP").string());
  std::filesystem::remove(dir / "STOP");
  EXPECT_TRUE(stop.is_set()) << "it stays asked for";
}

TEST(StopRequest, FolderThatIsNotThereIsNoRequest) {
  StopRequest stop("/nonexistent/STOP");
  EXPECT_FALSE(stop.is_set());
}

TEST(StopRequestDeathTest, SignalsKillAgainAfterwards) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        { StopRequest stop(""); }
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopRequest, LeavesTheProgramsOwnHandlersAsTheyWere) {
  std::signal(SIGTERM, SIG_IGN);
  { StopRequest stop(""); }
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_IGN);
  {
    StopRequest stop("");
    stop.accept();
  }
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_IGN);  // schedulers repeat the request
}

TEST(StopRequestDeathTest, TheFirstCtrlCIsRememberedAndTheSecondOneKills) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_DFL);
        watch_stop_signals();
        StopRequest stop("");
        std::raise(SIGINT);
        if (!stop.is_set() || stop.reason() != "Ctrl-C") std::exit(1);
        stop.accept();
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "a checkpoint is written after this step");
}

TEST(StopRequestDeathTest, AProcessThatCtrlCStoppedEndsByIt) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_DFL);
        watch_stop_signals();
        {
          StopRequest stop("");
          std::raise(SIGINT);
          stop.accept();
        }
        end_by_ctrl_c();
      },
      testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(
      {
        watch_stop_signals();
        std::raise(SIGTERM);
        end_by_ctrl_c();
        std::exit(85);
      },
      testing::ExitedWithCode(85), "");
}

TEST(StopRequestDeathTest, CtrlCKillsOutsideOfItsLife) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_DFL);
        watch_stop_signals();
        { StopRequest stop(""); }
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

// As of what a script starts in the background, or of a program with a handler of its own.
TEST(StopRequestDeathTest, ACtrlCThatIsHandledStaysSo) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const bool watched : {false, true}) {
    EXPECT_EXIT(
        {
          std::signal(SIGINT, SIG_IGN);
          if (watched) watch_stop_signals();
          {
            StopRequest stop("");
            std::raise(SIGINT);
            if (stop.is_set()) std::exit(1);
          }
          std::raise(SIGINT);
          std::exit(85);
        },
        testing::ExitedWithCode(85), "");
  }
}

TEST(StopRequestDeathTest, SignalsThatComeLateDoNotKill) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        {
          StopRequest stop("");
          stop.accept();
          std::raise(SIGUSR1);
        }
        std::raise(SIGTERM);
        std::raise(SIGUSR1);
        std::exit(85);
      },
      testing::ExitedWithCode(85), "");
}

TEST(StopRequestDeathTest, SignalsOutsideOfItsLifeDoNotKillWhoWatchesThem) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        watch_stop_signals();
        std::raise(SIGUSR1);
        {
          StopRequest stop("");
          if (!stop.is_set() || stop.reason() != "SIGUSR1") std::exit(1);
        }
        std::raise(SIGTERM);
        std::raise(SIGUSR1);
        std::exit(85);
      },
      testing::ExitedWithCode(85), "");
}

}  // namespace quern::test

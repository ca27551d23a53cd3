// SPDX-License-Identifier: Apache-2.0
#include "io/file_lock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kAtOnce{0};
constexpr milliseconds kLong{60'000};

void nobody_waits(const std::string& holder) {
  ADD_FAILURE() << "waits for " << holder;
}

TEST(FileLock, IsGrantedToOneAndThenToTheNext) {
  const test::TempDir folder;
  std::string holder;
  const auto tell = [&](const std::string& who) { holder = who; };
  {
    const auto first = FileLock::acquire(folder / "lock", kAtOnce, nobody_waits);
    ASSERT_TRUE(first);
    EXPECT_FALSE(FileLock::acquire(folder / "lock", kAtOnce, tell));
    EXPECT_EQ(holder, this_process());
    EXPECT_THAT(holder, HasSubstr("process " + std::to_string(getpid()) + " on "));
  }
  EXPECT_EQ(std::filesystem::file_size(folder / "lock"), 0u) << "of a holder that has gone";
  EXPECT_TRUE(FileLock::acquire(folder / "lock", kAtOnce, nobody_waits));
}

TEST(FileLock, IsFreedWhenItsProcessIsKilled) {
  const test::TempDir folder;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = FileLock::acquire(folder / "lock", kAtOnce, nobody_waits);
    static_cast<void>(!write(ready[1], "x", 1));
    pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  int waits = 0;
  const auto kill_it = [&](const std::string& who) {
    EXPECT_THAT(who, HasSubstr("process " + std::to_string(child)));
    kill(child, SIGKILL);
    ++waits;
  };
  const auto lock = FileLock::acquire(folder / "lock", kLong, kill_it);
  ASSERT_TRUE(lock);
  EXPECT_EQ(waits, 1);
  waitpid(child, nullptr, 0);
}

// What a dead node leaves on an old NFS: a lock that nobody will free.
TEST(FileLock, IsTakenFromAnEarlierStartOfTheSameJob) {
  const test::TempDir folder;
  const auto start = [](const char* job, const char* restarts) {
    setenv("SLURM_JOB_ID", job, 1);
    setenv("SLURM_RESTART_COUNT", restarts, 1);
  };
  std::string holder;
  const auto tell = [&](const std::string& who) { holder = who; };
  start("99", "0");
  const auto first = FileLock::acquire(folder / "lock", kAtOnce, nobody_waits);
  ASSERT_TRUE(first);
  EXPECT_THAT(this_process(), HasSubstr(", Slurm job 99, start 1"));
  EXPECT_FALSE(FileLock::acquire(folder / "lock", kAtOnce, tell));
  start("9", "1");
  EXPECT_FALSE(FileLock::acquire(folder / "lock", kAtOnce, tell));
  EXPECT_THAT(holder, HasSubstr("job 99, start 1"));
  start("99", "1");
  EXPECT_FALSE(FileLock::acquire(folder / "lock", kAtOnce, tell));
  EXPECT_EQ(first->new_holder(), "");
  const auto second = FileLock::acquire(folder / "lock", kLong, tell);
  ASSERT_TRUE(second);
  EXPECT_THAT(first->new_holder(), HasSubstr("job 99, start 2"));
  EXPECT_EQ(second->new_holder(), "");
  start("99", "0");
  EXPECT_FALSE(FileLock::acquire(folder / "lock", kAtOnce, tell));
  EXPECT_THAT(holder, HasSubstr("job 99, start 2"));
  EXPECT_FALSE(FileLock::acquire(folder / "lock", milliseconds(2500), tell));
  unsetenv("SLURM_JOB_ID");
  unsetenv("SLURM_RESTART_COUNT");
}

TEST(FileLock, OneWhoseFileIsGoneHasNoNewHolder) {
  const test::TempDir folder;
  const auto lock = FileLock::acquire(folder / "lock", kAtOnce, nobody_waits);
  std::filesystem::remove(folder / "lock");
  EXPECT_EQ(lock->new_holder(), "");
}

TEST(FileLock, RemovesOnlyAFileThatItMade) {
  const test::TempDir folder;
  FileLock::acquire(folder / "lock", kAtOnce, nobody_waits)->remove_new_file();
  EXPECT_FALSE(std::filesystem::exists(folder / "lock"));
  FileLock::acquire(folder / "lock", kAtOnce, nobody_waits);
  FileLock::acquire(folder / "lock", kAtOnce, nobody_waits)->remove_new_file();
  EXPECT_TRUE(std::filesystem::exists(folder / "lock"));
}

TEST(FileLock, LeavesTheFileThatAnotherHasMadeSince) {
  const test::TempDir folder;
  auto first = FileLock::acquire(folder / "lock", kAtOnce, nobody_waits);
  std::filesystem::remove(folder / "lock");
  const auto second = FileLock::acquire(folder / "lock", kAtOnce, nobody_waits);
  first->remove_new_file();
  EXPECT_TRUE(std::filesystem::exists(folder / "lock"));
}

// Else the one that waited and one that came later would both hold "the" lock.
TEST(FileLock, WaiterOfARemovedFileLocksTheNextOne) {
  const test::TempDir folder;
  std::optional<FileLock> first = FileLock::acquire(folder / "lock", kAtOnce, nobody_waits);
  ASSERT_TRUE(first);
  const auto remove_it = [&](const std::string&) {
    first->remove_new_file();
    EXPECT_FALSE(std::filesystem::exists(folder / "lock"));
    first.reset();
  };
  const auto second = FileLock::acquire(folder / "lock", kLong, remove_it);
  ASSERT_TRUE(second);
  EXPECT_TRUE(std::filesystem::exists(folder / "lock"));
  std::string holder;
  const auto tell = [&](const std::string& who) { holder = who; };
  EXPECT_FALSE(FileLock::acquire(folder / "lock", kAtOnce, tell));
  EXPECT_EQ(holder, this_process());
}

TEST(FileLock, WaiterOfARemovedFileLocksTheOneThatAnotherHolds) {
  const test::TempDir folder;
  std::optional<FileLock> first = FileLock::acquire(folder / "lock", kAtOnce, nobody_waits);
  std::optional<FileLock> between;
  const auto replace_it = [&](const std::string&) {
    first->remove_new_file();
    between = FileLock::acquire(folder / "lock", kAtOnce, nobody_waits);
    first.reset();
  };
  EXPECT_FALSE(FileLock::acquire(folder / "lock", milliseconds(300), replace_it));
  EXPECT_TRUE(between);
}

TEST(FileLock, FileThatCannotBeMade) {
  const test::TempDir folder;
  test::expect_error([&] { FileLock::acquire(folder / "absent/lock", kAtOnce, nobody_waits); },
                     ExitCode::bad_input, {"absent/lock", "No such file"});
}

}  // namespace
}  // namespace quern

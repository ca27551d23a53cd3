// SPDX-License-Identifier: Apache-2.0
// kill -9 at any moment leaves a folder from which training can go on.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <random>

#include "base/stopwatch.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"
#include "checkpoint_fixture.hpp"

namespace quern {
namespace {

using test::SampleRun;
using test::TempDir;

/// Writes checkpoint after checkpoint, beginning after the newest, until it is killed. Says so
/// through the pipe after each one.
[[noreturn]] void write_for_ever(const std::filesystem::path& folder, int pipe_end) {
  try {
    const auto begin = load_newest_good(folder, [](const auto&, const auto&) { _exit(3); });
    CheckpointWriter writer(folder, 2);
    for (std::int64_t step = begin ? begin->state().progress.step + 1 : 1;; ++step) {
      writer.write(SampleRun(step, static_cast<int>(step % 1000)).state());
      if (write(pipe_end, "x", 1) != 1) _exit(5);
    }
  } catch (...) {
    _exit(4);
  }
}

/// Starts a writer, waits for its first checkpoint and kills it at a random moment of the next few.
void write_and_be_killed(const std::filesystem::path& folder, std::mt19937& random) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Stopwatch watch;
  const pid_t child = fork();
  if (child == 0) write_for_ever(folder, ends[1]);
  close(ends[1]);
  char written = 0;
  EXPECT_EQ(read(ends[0], &written, 1), 1);
  const double wait_s = watch.seconds() * std::uniform_real_distribution<double>()(random);
  usleep(static_cast<useconds_t>(wait_s * 1e6));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself, status " << status;
}

TEST(InterruptedWriter, KilledAtAnyMomentTheNewestCheckpointIsWhole) {
  const TempDir folder;
  std::mt19937 random(7);
  std::int64_t newest = 0;
  int temporaries = 0;
  for (int kill_number = 0; kill_number < 40; ++kill_number) {
    write_and_be_killed(folder.path(), random);
    for (const std::string& name : test::names_in(folder.path())) {
      temporaries += name.find(".tmp.") != std::string::npos;
    }
    const auto loaded = load_newest_good(folder.path(), [](const auto& path, const auto& problem) {
      ADD_FAILURE() << path << ": " << problem;
    });
    ASSERT_TRUE(loaded);
    const std::int64_t step = loaded->state().progress.step;
    ASSERT_GT(step, newest);
    newest = step;
    SampleRun expected(step, static_cast<int>(step % 1000));
    test::expect_same_state(loaded->state(), expected.state());
  }
  EXPECT_GT(temporaries, 0) << "no kill hit a write, so nothing was tested";

  CheckpointWriter next(folder.path(), 2);
  for (const std::string& name : test::names_in(folder.path())) {
    EXPECT_EQ(name.find(".tmp."), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <thread>

#include "base/host_name.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern::test {

namespace fs = std::filesystem;

TEST(RunFolder, CreatesEverythingAndKeepsTheRecipe) {
  const TempDir dir;
  const RunFolder folder(dir / "runs/first");
  EXPECT_EQ(folder.recipe_text(), "");
  folder.create("name = \"a\"\n");
  EXPECT_EQ(folder.recipe_text(), "name = \"a\"\n");
  EXPECT_TRUE(fs::is_directory(folder.checkpoints()));
  EXPECT_TRUE(fs::is_directory(folder.path() / "log"));
  EXPECT_FALSE(fs::exists(folder.metrics_file()));
}

TEST(RunFolder, IsNotMadeAnewWhereItIsGone) {
  const TempDir dir;
  const RunFolder folder(dir / "run");
  const auto check = [&] {
    if (!fs::exists(folder.path())) throw Error("it is gone");
  };
  expect_error([&] { folder.create("name = \"a\"\n", check); }, ExitCode::failure, {"it is gone"});
  EXPECT_FALSE(fs::exists(folder.path()));
}

TEST(RunFolder, CreatingAgainReplacesTheRecipeAndNothingElse) {
  const TempDir dir;
  const RunFolder folder(dir / "run");
  folder.create("old, and longer than the new one");
  std::ofstream(folder.checkpoints() / "ckpt-0000000001.h5") << "x";
  folder.create("new");
  EXPECT_EQ(folder.recipe_text(), "new");
  EXPECT_TRUE(fs::exists(folder.checkpoints() / "ckpt-0000000001.h5"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 3)
      << "no temporary file stays";
}

TEST(RunFolder, CreatingRemovesWhatKilledProcessesLeft) {
  const TempDir dir;
  const RunFolder folder(dir / "run");
  folder.create("r");
  const auto temporary = [&](const std::string& name, pid_t process) {
    return dir / ("run/" + name + ".tmp." + host_name() + "." + std::to_string(process));
  };
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  waitpid(ended, nullptr, 0);
  for (const char* name : {"recipe.toml", "metrics.jsonl", "DONE", "notes"})
    std::ofstream(temporary(name, ended)) << "half";
  std::ofstream(temporary("DONE", getppid())) << "of a process that lives";
  folder.create("r");
  for (const char* name : {"recipe.toml", "metrics.jsonl", "DONE"})
    EXPECT_FALSE(fs::exists(temporary(name, ended))) << name;
  EXPECT_TRUE(fs::exists(temporary("notes", ended))) << "somebody else's";
  EXPECT_TRUE(fs::exists(temporary("DONE", getppid())));
}

TEST(RunFolder, DoneEndsWhenTheRunGoesOn) {
  const TempDir dir;
  const RunFolder folder(dir / "run");
  folder.create("r");
  folder.mark_done("0123");
  EXPECT_TRUE(fs::exists(dir / "run/DONE"));
  folder.create("r");
  EXPECT_FALSE(fs::exists(dir / "run/DONE"));
}

TEST(RunFolder, OfAnotherProcessIsLeftAsItIs) {
  const TempDir dir;
  const RunFolder folder(dir / "run");
  const auto taken_over = [] { throw Error("taken over"); };
  int checks = 0;
  const auto taken_over_meanwhile = [&] {
    if (++checks == 2) taken_over();
  };
  expect_error([&] { folder.create("r", taken_over_meanwhile); }, ExitCode::failure,
               {"taken over"});
  EXPECT_TRUE(fs::exists(folder.checkpoints())) << "that one may need it";
  folder.create("r");
  folder.mark_done("0123");
  expect_error([&] { folder.create("new", taken_over); }, ExitCode::failure, {"taken over"});
  EXPECT_EQ(folder.recipe_text(), "r");
  EXPECT_TRUE(fs::exists(folder.done_file()));
  fs::remove(folder.done_file());
  expect_error([&] { folder.mark_done("0123", taken_over); }, ExitCode::failure, {"taken over"});
  EXPECT_FALSE(fs::exists(folder.done_file()));
}

TEST(RunFolder, CreatingThatFailsLeavesNoFolders) {
  const TempDir dir;
  const RunFolder folder(dir / "run");
  fs::create_directories(folder.recipe_file());
  expect_error([&] { folder.create("r"); }, ExitCode::failure, {"recipe.toml"});
  EXPECT_FALSE(fs::exists(folder.checkpoints()));
  EXPECT_FALSE(fs::exists(dir / "run/log"));
}

TEST(RunLock, BelongsToOneTrainingAtATime) {
  const TempDir dir;
  const RunFolder folder(dir / "runs/one");
  {
    const RunLock lock(folder);
    folder.create("r");
    expect_error([&] { RunLock(RunFolder(dir / "runs/one"), std::chrono::seconds(0)); },
                 ExitCode::bad_input,
                 {"runs/one", "is in use", this_process(), "another --run-dir", ".lock"});
  }
  EXPECT_TRUE(fs::exists(folder.lock_file()));
  EXPECT_NO_THROW(RunLock(folder, std::chrono::seconds(0)));
  std::ofstream(dir / "file") << "x";
  expect_error([&] { RunLock(RunFolder(dir / "file/run")); }, ExitCode::bad_input,
               {"cannot make the run folder", "file/run"});
  fs::create_directories(dir / "other/.lock");
  expect_error([&] { RunLock(RunFolder(dir / "other")); }, ExitCode::bad_input,
               {"cannot write the run folder", "other/.lock"});
}

TEST(RunLock, FolderThatWasRenamed) {
  const TempDir dir;
  const RunLock lock(RunFolder(dir / "run"));
  RunFolder(dir / "run").create("r");
  EXPECT_NO_THROW(lock.check());
  fs::remove(dir / "run/.lock");  // by somebody who takes it for one of a dead node
  EXPECT_NO_THROW(lock.check());
  fs::rename(dir / "run", dir / "moved");
  expect_error([&] { lock.check(); }, ExitCode::failure,
               {"the run folder '", "run' is no longer there", "expected"});
}

TEST(RunLock, TakesAlongWhatItMadeForARunThatWasRefused) {
  const TempDir dir;
  { const RunLock lock(RunFolder(dir / "runs/new")); }
  EXPECT_FALSE(fs::exists(dir / "runs"));
  fs::create_directories(dir / "runs");
  std::ofstream(dir / "runs/slurm.out") << "x";
  { const RunLock lock(RunFolder(dir / "runs")); }
  EXPECT_TRUE(fs::exists(dir / "runs/slurm.out"));
  EXPECT_FALSE(fs::exists(dir / "runs/.lock"));
}

TEST(RunLock, OneThatWaitsForARefusedRunMakesTheFolderAgain) {
  const TempDir dir;
  const RunFolder folder(dir / "runs/new");
  auto first = std::make_unique<RunLock>(folder);
  std::thread refused([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    first.reset();
  });
  const RunLock second(folder);
  refused.join();
  EXPECT_TRUE(fs::exists(folder.lock_file()));
  folder.create("r");
  expect_error([&] { RunLock(folder, std::chrono::seconds(0)); }, ExitCode::bad_input,
               {"is in use", this_process()});
}

// Starts that meet in a new folder, all refused: each holds the lock alone, none fails for the
// folder that another one takes away.
TEST(RunLock, ManyAtOnce) {
  const TempDir dir;
  const RunFolder folder(dir / "runs/new");
  std::atomic<int> holders = 0;
  const auto start = [&] {
    for (int i = 0; i < 200; ++i) {
      const RunLock lock(folder);
      EXPECT_EQ(++holders, 1);
      EXPECT_TRUE(fs::exists(folder.lock_file()));
      --holders;
    }
  };
  std::thread one(start), two(start);
  start();
  one.join();
  two.join();
}

TEST(RunFolder, FileInTheWay) {
  const TempDir dir;
  std::ofstream(dir / "file") << "x";
  expect_error([&] { RunFolder(dir / "file/run").create("r"); }, ExitCode::bad_input,
               {"cannot write the run folder", "file/run"});
  fs::create_directories(dir / "other/recipe.toml");
  expect_error([&] { RunFolder(dir / "other").recipe_text(); }, ExitCode::bad_input,
               {"recipe.toml", "is a directory"});
}

}  // namespace quern::test

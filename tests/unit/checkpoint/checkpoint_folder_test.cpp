// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/host_name.hpp"
#include "checkpoint_fixture.hpp"
#include "io/folder_files.hpp"
#include "support/expect_error.hpp"

namespace quern {
namespace {

using test::names_in;
using test::put_bytes;
using test::TempDir;

/// The number of a process that has ended.
pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(CheckpointFolder, NamesHaveTenDigitsAndMoreWhenNeeded) {
  EXPECT_EQ(checkpoint_name(0), "ckpt-0000000000.h5");
  EXPECT_EQ(checkpoint_name(123), "ckpt-0000000123.h5");
  EXPECT_EQ(checkpoint_name(12345678901), "ckpt-12345678901.h5");
}

// Not to be told is not to be without it.
TEST(CheckpointFolder, SaysWhyItCannotBeRead) {
  const TempDir folder;
  EXPECT_FALSE(std::filesystem::exists(status_of(folder / "absent")));
  EXPECT_TRUE(std::filesystem::is_directory(status_of(folder.path())));
  const std::string too_long(300, 'a');
  for (const auto& path : {folder / too_long, folder / too_long / "run"}) {
    test::expect_error([&] { checkpoint_folder_of(path); }, ExitCode::bad_input,
                       {"cannot read '", "File name too long"});
  }
}

// Whoever overlooks one begins anew, and erases what the run has written.
TEST(CheckpointFolder, HasLinksAsWell) {
  const TempDir folder;
  const TempDir elsewhere;
  put_bytes(elsewhere.path() / "kept.h5", "a checkpoint");
  std::filesystem::create_symlink(elsewhere.path() / "kept.h5", folder.path() / checkpoint_name(5));
  std::filesystem::create_symlink(elsewhere.path() / "gone.h5", folder.path() / checkpoint_name(7));
  std::filesystem::create_directory(folder.path() / checkpoint_name(9));
  const std::vector<CheckpointFile> found = list_checkpoints(folder.path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].step, 5);
  EXPECT_EQ(found[1].step, 7);
}

TEST(CheckpointFolder, StepIsReadBackFromItsNameOnly) {
  EXPECT_EQ(step_of_name("ckpt-0000000123.h5"), 123);
  EXPECT_EQ(step_of_name("ckpt-12345678901.h5"), 12345678901);
  for (const char* name :
       {"ckpt-123.h5", "ckpt-00000000123.h5", "ckpt-0000000123.h5.tmp.7", "ckpt-0000000123.hdf5",
        "ckpt--000000123.h5", "ckpt-000000012a.h5", "ckpt-99999999999999999999.h5", "ckpt-.h5",
        "best.h5", "ckpt-+000000123.h5", ""}) {
    EXPECT_FALSE(step_of_name(name)) << name;
  }
}

TEST(CheckpointFolder, ListsByStepAndSkipsWhatIsNoCheckpoint) {
  const TempDir folder;
  for (const char* name : {"ckpt-12345678901.h5", "ckpt-0000000020.h5", "ckpt-0000000003.h5",
                           "notes.txt", "ckpt-0000000004.h5.tmp.node.1"}) {
    put_bytes(folder / name, "x");
  }
  std::filesystem::create_directory(folder / "ckpt-0000000007.h5");

  std::vector<std::int64_t> steps;
  for (const CheckpointFile& file : list_checkpoints(folder.path())) steps.push_back(file.step);

  EXPECT_EQ(steps, (std::vector<std::int64_t>{3, 20, 12345678901}));
}

TEST(CheckpointFolder, AbsentFolderHoldsNoCheckpointsButAFileIsNoFolder) {
  const TempDir folder;
  put_bytes(folder / "file", "x");
  EXPECT_TRUE(list_checkpoints(folder / "absent").empty());
  test::expect_error([&] { list_checkpoints(folder / "file"); }, ExitCode::bad_input, {"file"});
}

TEST(CheckpointFolder, OnlyTemporariesOfDeadProcessesAreRemoved) {
  const TempDir folder;
  const std::string here = ".h5.tmp." + host_name() + ".";
  const std::string dead = "ckpt-0000000001" + here + std::to_string(dead_process());
  const std::string own = "ckpt-0000000002" + here + std::to_string(getpid());
  const std::string living = "ckpt-0000000003" + here + std::to_string(getppid());
  for (const std::string& name : {dead, own, living, std::string("ckpt-0000000004.h5"),
                                  std::string("ckpt-0000000004.h5.tmp.backup"),
                                  std::string("ckpt-0000000004.h5.tmp.backup.old"),
                                  "model" + here + std::to_string(dead_process())}) {
    put_bytes(folder / name, "x");
  }

  const auto removed = remove_stale_temporaries(folder.path());

  EXPECT_EQ(removed.size(), 2u);
  const auto left = names_in(folder.path());
  EXPECT_EQ(left.size(), 5u);
  EXPECT_EQ(std::count(left.begin(), left.end(), dead), 0);
  EXPECT_EQ(std::count(left.begin(), left.end(), own), 0);
  EXPECT_EQ(std::count(left.begin(), left.end(), living), 1);
}

// Killed with the launcher that would have asked how it ended.
TEST(CheckpointFolder, TemporariesOfZombiesAreRemoved) {
  const TempDir folder;
  const pid_t zombie = fork();
  if (zombie == 0) _exit(0);
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(zombie), &ended, WEXITED | WNOWAIT), 0);
  put_bytes(folder / (checkpoint_name(1) + ".tmp." + host_name() + "." + std::to_string(zombie)),
            "x");
  EXPECT_EQ(remove_stale_temporaries(folder.path()).size(), 1u);
  waitpid(zombie, nullptr, 0);
}

// Its process number says nothing here: a run there may be writing it just now.
TEST(CheckpointFolder, TemporariesOfOtherMachinesAreRemovedWhenTheyAreOld) {
  const TempDir folder;
  const auto name = [](int step) { return checkpoint_name(step) + ".tmp.node7.example.org.4711"; };
  put_bytes(folder / name(1), "x");
  put_bytes(folder / name(2), "x");
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(folder / name(1), now - std::chrono::minutes(61));
  std::filesystem::last_write_time(folder / name(2), now - std::chrono::minutes(59));
  EXPECT_EQ(remove_stale_temporaries(folder.path()).size(), 1u);
  EXPECT_EQ(names_in(folder.path()).size(), 1u);
}

TEST(CheckpointFolder, FindsTheFileThatAUserMeans) {
  const TempDir run;
  std::filesystem::create_directory(run / "checkpoints");
  test::expect_error([&] { checkpoint_file_of(run.path()); }, ExitCode::bad_input,
                     {"no checkpoint in"});
  put_bytes(run.path() / "checkpoints" / "ckpt-0000000005.h5", "x");
  put_bytes(run.path() / "checkpoints" / "ckpt-0000000009.h5", "x");
  const auto newest = run.path() / "checkpoints" / "ckpt-0000000009.h5";

  EXPECT_EQ(checkpoint_file_of(run.path()), newest);
  EXPECT_EQ(checkpoint_file_of(run / "checkpoints"), newest);
  EXPECT_EQ(checkpoint_file_of(newest), newest);
  test::expect_error([&] { checkpoint_file_of(run / "absent"); }, ExitCode::bad_input, {"absent"});
}

}  // namespace
}  // namespace quern

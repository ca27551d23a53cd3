// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/files.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temp_dir.hpp"

namespace quern {
namespace {

using ::testing::HasSubstr;

TEST(PreflightFiles, FolderThatIsYetToBeMade) {
  const test::TempDir folder;
  const FileInfo info = inspect_run_folder((folder.path() / "a" / "b").string(), 1000, 3);
  EXPECT_EQ(info.folder, folder.path().string());
  EXPECT_EQ(info.checkpoints, 4);
  EXPECT_GT(info.free_bytes, 0);
  EXPECT_EQ(info.problem, "");
  EXPECT_EQ(info.locking_problem, "");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(PreflightFiles, LooksWhereTheCheckpointsLie) {
  const test::TempDir folder;
  std::filesystem::create_symlink("/proc", folder.path() / "checkpoints");
  const FileInfo info = inspect_run_folder(folder.path().string(), 1000, 3);
  EXPECT_THAT(info.problem, HasSubstr("cannot write to '"));
  EXPECT_THAT(info.problem, HasSubstr("checkpoints"));
}

TEST(PreflightFiles, CheckpointsThatAreThereNeedNoMoreRoom) {
  const test::TempDir folder;
  const std::filesystem::path checkpoints = folder.path() / "checkpoints";
  std::filesystem::create_directory(checkpoints);
  const auto wanted = [&](int keep) {
    return inspect_run_folder(folder.path().string(), 1000, keep).checkpoints;
  };
  std::ofstream(checkpoints / "notes.txt") << "no checkpoint";
  EXPECT_EQ(wanted(3), 4);
  for (const char* step : {"0000000001", "0000000002", "0000000003"}) {
    std::ofstream(checkpoints / (std::string("ckpt-") + step + ".h5")) << step;
  }
  EXPECT_EQ(wanted(10), 8);
  EXPECT_EQ(wanted(3), 1);  // the one that is written before the oldest is deleted
  EXPECT_EQ(wanted(1), 1);
}

TEST(PreflightFiles, FolderThatCannotBeWritten) {
  const FileInfo info = inspect_run_folder("/proc/quern/run", 1000, 3);
  EXPECT_THAT(info.problem, HasSubstr("cannot write to '/proc'"));
}

}  // namespace
}  // namespace quern

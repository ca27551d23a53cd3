// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/probes.hpp"

#include <gmock/gmock.h>

#include <filesystem>

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

TEST(PreflightFiles, FolderThatCannotBeWritten) {
  const FileInfo info = inspect_run_folder("/proc/quern/run", 1000, 3);
  EXPECT_THAT(info.problem, HasSubstr("cannot write to '/proc'"));
}

TEST(PreflightFiles, Data) {
  Recipe recipe;
  recipe.data.source = DataSource::random;
  EXPECT_EQ(data_problems(recipe, 1, 1).reading, "");
  recipe.data.source = DataSource::shards;
  recipe.data.train = "no/such/folder";
  EXPECT_THAT(data_problems(recipe, 1, 1).reading, HasSubstr("no/such/folder"));
}

}  // namespace
}  // namespace quern

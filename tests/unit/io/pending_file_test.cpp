// SPDX-License-Identifier: Apache-2.0
#include "io/pending_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "support/expect_error.hpp"
#include "support/sync_calls.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PendingFile, AppearsOnCommitAndReplaces) {
  const test::TempDir folder;
  std::ofstream(folder / "a") << "old";
  {
    PendingFile pending(folder / "a");
    std::ofstream(pending.temporary()) << "new";
    EXPECT_EQ(pending.temporary().parent_path(), folder.path());
    EXPECT_EQ(contents(folder / "a"), "old");
    pending.commit();
  }
  EXPECT_EQ(contents(folder / "a"), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(PendingFile, LeavesNothingWithoutCommit) {
  const test::TempDir folder;
  {
    PendingFile first(folder / "a");
    std::ofstream(first.temporary()) << "half";
    const PendingFile second = std::move(first);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(PendingFile, IsCheckedJustBeforeItAppears) {
  const test::TempDir folder;
  std::ofstream(folder / "a") << "old";
  {
    PendingFile pending(folder / "a");
    std::ofstream(pending.temporary()) << "new";
    test::expect_error([&] { pending.commit([] { throw Error("taken over"); }); },
                       ExitCode::failure, {"taken over"});
  }
  EXPECT_EQ(contents(folder / "a"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

// After a loss of power the name is that of the old file or of the whole new one.
TEST(PendingFile, IsOnTheDiskBeforeItGetsItsNameAndThenItsNameIs) {
  const test::TempDir folder;
  PendingFile pending(folder / "a");
  const std::filesystem::path temporary = pending.temporary();
  std::ofstream(temporary) << "new";
  test::SyncCalls syncs;
  std::vector<bool> had_name;
  syncs.before = [&](const auto&) {
    had_name.push_back(std::filesystem::exists(folder / "a"));
    return 0;
  };
  pending.commit();
  EXPECT_EQ(syncs.paths(), (std::vector<std::filesystem::path>{temporary, folder.path()}));
  EXPECT_EQ(had_name, (std::vector<bool>{false, true}));
}

TEST(PendingFile, ReportsWhatIsMissing) {
  const test::TempDir folder;
  PendingFile pending(folder / "a");
  test::expect_error([&] { pending.commit(); }, ExitCode::failure, {"a.tmp."});
}

}  // namespace
}  // namespace quern

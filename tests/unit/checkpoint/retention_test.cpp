// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/retention.hpp"

#include <gtest/gtest.h>

#include "checkpoint/writer.hpp"
#include "checkpoint_fixture.hpp"
#include "support/sync_calls.hpp"

namespace quern {
namespace {

using test::names_in;
using test::SampleRun;
using test::TempDir;

std::filesystem::path write_step(const TempDir& folder, std::int64_t step) {
  return write_checkpoint(folder.path(), SampleRun(step).state());
}

TEST(Retention, KeepsTheNewestAndDeletesOldestFirst) {
  const TempDir folder;
  for (const std::int64_t step : {7, 1, 30, 4}) write_step(folder, step);
  const auto newest = write_step(folder, 31);

  const auto deleted = keep_newest(newest, 2);

  ASSERT_EQ(deleted.size(), 3u);
  EXPECT_EQ(deleted[0].filename(), "ckpt-0000000001.h5");
  EXPECT_EQ(deleted[1].filename(), "ckpt-0000000004.h5");
  EXPECT_EQ(deleted[2].filename(), "ckpt-0000000007.h5");
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"ckpt-0000000030.h5", "ckpt-0000000031.h5"}));
}

// Else old ones may be back after a loss of power, and take the room of new ones.
TEST(Retention, SyncsTheFolderThatItDeletesFrom) {
  const TempDir folder;
  write_step(folder, 1);
  const auto newest = write_step(folder, 2);
  const test::SyncCalls syncs;
  keep_newest(newest, 2);
  EXPECT_TRUE(syncs.paths().empty());
  keep_newest(newest, 1);
  EXPECT_EQ(syncs.paths(), std::vector<std::filesystem::path>{folder.path()});
}

TEST(Retention, KeepsEverythingWhileThereAreFew) {
  const TempDir folder;
  write_step(folder, 1);
  EXPECT_TRUE(keep_newest(write_step(folder, 2), 2).empty());
  EXPECT_TRUE(keep_newest(folder / "ckpt-0000000002.h5", 1000000).empty());
}

TEST(Retention, HigherStepsAndForeignFilesStay) {
  const TempDir folder;
  write_step(folder, 1);
  write_step(folder, 50);
  const std::vector<std::string> foreign = {"best.h5", "ckpt-1.h5", "ckpt-0000000001.h5.bak"};
  for (const std::string& name : foreign) test::put_bytes(folder / name, "x");

  keep_newest(write_step(folder, 20), 1);

  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"best.h5", "ckpt-0000000001.h5.bak", "ckpt-0000000020.h5",
                                      "ckpt-0000000050.h5", "ckpt-1.h5"}));
}

TEST(Retention, DamagedOnesDoNotCount) {
  const TempDir folder;
  for (const std::int64_t step : {1, 2, 3, 4, 5, 6}) write_step(folder, step);
  const std::vector<std::filesystem::path> damaged = {
      folder / "ckpt-0000000002.h5", folder / "ckpt-0000000004.h5", folder / "ckpt-0000000005.h5"};
  keep_newest(write_step(folder, 7), 3, damaged);
  EXPECT_EQ(
      names_in(folder.path()),
      (std::vector<std::string>{"ckpt-0000000003.h5", "ckpt-0000000004.h5", "ckpt-0000000005.h5",
                                "ckpt-0000000006.h5", "ckpt-0000000007.h5"}));
  keep_newest(folder / "ckpt-0000000007.h5", 1, damaged);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"ckpt-0000000007.h5"});
}

TEST(Retention, NothingIsDeletedUnlessTheNewestIsGood) {
  const TempDir folder;
  write_step(folder, 1);
  const auto newest = write_step(folder, 2);
  test::put_bytes(newest, test::bytes_of(newest).substr(0, 3000));
  test::expect_error([&] { keep_newest(newest, 1); }, ExitCode::failure,
                     {"nothing is deleted", newest.string()});
  test::expect_error([&] { keep_newest(folder / "ckpt-0000000003.h5", 1); }, ExitCode::failure,
                     {"nothing is deleted"});
  EXPECT_EQ(names_in(folder.path()).size(), 2u);
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "io/new_folders.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_dir.hpp"

namespace quern::test {

namespace fs = std::filesystem;

TEST(NewFolders, RemovesTheEmptyOnesThatItMade) {
  const TempDir dir;
  fs::create_directories(dir / "mine/old");
  {
    NewFolders folders;
    folders.make(dir / "mine/old");
    folders.make(dir / "mine/a/b/c/");
    folders.make(dir / "mine/a/b/d");
    folders.make(dir / "mine/full/e");
    EXPECT_TRUE(fs::is_directory(dir / "mine/a/b/c"));
    EXPECT_TRUE(fs::is_directory(dir / "mine/a/b/d"));
    std::ofstream(dir / "mine/full/file") << "x";
  }
  EXPECT_FALSE(fs::exists(dir / "mine/a"));
  EXPECT_TRUE(fs::exists(dir / "mine/old"));
  EXPECT_TRUE(fs::exists(dir / "mine/full/file"));
  EXPECT_FALSE(fs::exists(dir / "mine/full/e"));
}

TEST(NewFolders, KeepsThem) {
  const TempDir dir;
  {
    NewFolders folders;
    folders.make(dir / "a/b");
    folders.keep();
  }
  EXPECT_TRUE(fs::is_directory(dir / "a/b"));
}

TEST(NewFolders, RemovesWhatItMadeBeforeItFailed) {
  const TempDir dir;
  std::ofstream(dir / "file") << "x";
  EXPECT_THROW(NewFolders().make(dir / "file/a"), fs::filesystem_error);
  EXPECT_THROW(NewFolders().make(dir / "a" / std::string(300, 'b')), fs::filesystem_error);
  EXPECT_FALSE(fs::exists(dir / "a"));
  EXPECT_TRUE(fs::exists(dir / "file"));
}

}  // namespace quern::test

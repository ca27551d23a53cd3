// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

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

TEST(RunFolder, DoneEndsWhenTheRunGoesOn) {
  const TempDir dir;
  const RunFolder folder(dir / "run");
  folder.create("r");
  folder.mark_done("0123");
  EXPECT_TRUE(fs::exists(dir / "run/DONE"));
  folder.create("r");
  EXPECT_FALSE(fs::exists(dir / "run/DONE"));
}

TEST(RunFolder, BelongsToOneTrainingAtATime) {
  const TempDir dir;
  const RunFolder folder(dir / "runs/one");
  {
    const FileLock lock = folder.lock();
    expect_error([&] { RunFolder(dir / "runs/one").lock(std::chrono::seconds(0)); },
                 ExitCode::bad_input,
                 {"runs/one", "is in use", this_process(), "another --run-dir", ".lock"});
  }
  EXPECT_NO_THROW(folder.lock(std::chrono::seconds(0)));
  std::ofstream(dir / "file") << "x";
  expect_error([&] { RunFolder(dir / "file/run").lock(); }, ExitCode::bad_input,
               {"cannot make the run folder", "file/run"});
  fs::create_directories(dir / "other/.lock");
  expect_error([&] { RunFolder(dir / "other").lock(); }, ExitCode::bad_input,
               {"cannot write the run folder", "other/.lock"});
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

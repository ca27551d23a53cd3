// SPDX-License-Identifier: Apache-2.0
#include "bench/scratch_files.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "base/error.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

TEST(ScratchFolder, GoesWithItsContent) {
  const test::TempDir parent;
  {
    const ScratchFolder scratch(parent.path());
    std::filesystem::create_directory(scratch.path() / "shards");
    std::ofstream(scratch.path() / "shards" / "file") << "content";
    EXPECT_FALSE(std::filesystem::is_empty(parent.path()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(parent.path()));
}

TEST(ScratchFolder, NeedsAFolderToStandIn) {
  const test::TempDir parent;
  std::ofstream(parent.path() / "file") << "content";
  EXPECT_THROW(ScratchFolder(parent.path() / "absent"), InputError);
  EXPECT_THROW(ScratchFolder(parent.path() / "file"), InputError);
}

TEST(ScratchFolder, GoesWhenInterrupted) {
  const test::TempDir parent;
  const auto work = [&] {
    const ScratchFolder scratch(parent.path());
    EXPECT_NO_THROW(scratch.stop_if_interrupted());
    std::raise(SIGTERM);
    scratch.stop_if_interrupted();
  };
  EXPECT_THROW(work(), Error);
  EXPECT_TRUE(std::filesystem::is_empty(parent.path()));
}

}  // namespace
}  // namespace quern

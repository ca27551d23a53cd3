// SPDX-License-Identifier: Apache-2.0
#include "bench/scratch_files.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

TEST(RawFile, ComesBackAsItWasWritten) {
  const test::TempDir folder;
  for (const std::size_t count : {0, 1, 100'000}) {
    const std::vector<std::byte> bytes = some_bytes(count);
    write_raw_file(folder.path() / "raw", bytes);
    std::vector<std::byte> got(17);
    read_raw_file(folder.path() / "raw", got);
    EXPECT_EQ(got, bytes);
  }
}

TEST(RawFile, LeavesNothingButItself) {
  const test::TempDir folder;
  write_raw_file(folder.path() / "raw", some_bytes(10));
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(RawFile, ThatIsNotThereIsAnError) {
  const test::TempDir folder;
  std::vector<std::byte> bytes;
  EXPECT_THROW(write_raw_file(folder.path() / "absent" / "raw", some_bytes(1)), Error);
  EXPECT_ANY_THROW(read_raw_file(folder.path() / "absent", bytes));
}

}  // namespace
}  // namespace quern

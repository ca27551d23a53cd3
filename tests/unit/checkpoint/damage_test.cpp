// SPDX-License-Identifier: Apache-2.0
// Every byte of a checkpoint counts: whatever happens to it is found before it is believed.
#include <gtest/gtest.h>

#include <random>

#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"
#include "checkpoint_fixture.hpp"
#include "io/h5_file.hpp"

namespace quern {
namespace {

using test::bytes_of;
using test::SampleRun;
using test::TempDir;

class DamageTest : public ::testing::Test {
 protected:
  DamageTest() : path_(write_checkpoint(folder_.path(), run_.state())), good_(bytes_of(path_)) {}

  /// Overwrites a part of the file in place (quick: rewriting it goes to the disk each time).
  void overwrite(std::size_t offset, const std::string& bytes) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }

  /// With `bytes` at `offset` the file is unusable; restores it.
  void expect_damage(std::size_t offset, const std::string& bytes) {
    overwrite(offset, bytes);
    EXPECT_THROW(read_checkpoint(path_), UnusableError) << "at byte " << offset;
    overwrite(offset, good_.substr(offset, bytes.size()));
  }

  TempDir folder_;
  SampleRun run_;
  std::filesystem::path path_;
  std::string good_;
};

TEST_F(DamageTest, AFlippedBitIsFoundWhereverItIs) {
  for (std::size_t i = 0; i < good_.size(); i += 3) {
    expect_damage(i, std::string(1, static_cast<char>(good_[i] ^ (1 << i % 8))));
  }
  EXPECT_TRUE(find_damage(path_).empty());
}

TEST_F(DamageTest, BlocksOfZerosAndNoiseAreFound) {
  std::mt19937 random(1);
  for (std::size_t i = 0; i + 512 <= good_.size(); i += 256) {
    std::string block(512, '\0');
    if (good_.compare(i, block.size(), block) != 0) expect_damage(i, block);
    for (char& byte : block) byte = static_cast<char>(random());
    expect_damage(i, block);
  }
}

TEST_F(DamageTest, EveryTruncationIsFound) {
  for (std::size_t length = good_.size(); length > 0;) {
    length -= std::min<std::size_t>(length, length % 3 + 1);
    std::filesystem::resize_file(path_, length);
    EXPECT_THROW(read_checkpoint(path_), UnusableError) << length;
  }
}

TEST_F(DamageTest, DamagedTensorsAreAllNamedWithBothDigests) {
  for (const char* dataset : {"/model/fc1/weight", "/optimizer/exp_avg_sq/fc1/bias"}) {
    const auto place =
        static_cast<std::size_t>(H5File::open_read(path_).dataset_info(dataset).offset);
    overwrite(place, std::string(1, static_cast<char>(good_[place] ^ 1)));
  }

  const auto damage = find_damage(path_);

  ASSERT_EQ(damage.size(), 2u);
  using ::testing::HasSubstr;
  EXPECT_THAT(damage[0], HasSubstr("'/model/fc1/weight' is damaged: expected SHA-256"));
  EXPECT_THAT(damage[1], HasSubstr("'/optimizer/exp_avg_sq/fc1/bias' is damaged"));
  test::expect_error([&] { read_checkpoint(path_); }, ExitCode::do_not_requeue,
                     {path_.string(), "/model/fc1/weight", "found", "and 1 more"});
}

TEST_F(DamageTest, AFileThatAnotherProgramRewroteIsRefusedButItsDamageIsNamed) {
  const auto length = good_.find("{\"file_bytes\"");
  ASSERT_NE(length, std::string::npos);
  overwrite(
      static_cast<std::size_t>(H5File::open_read(path_).dataset_info("/model/fc1/bias").offset),
      "ruin");
  std::filesystem::resize_file(path_, length);  // as HDF5 does when it opens a file for writing

  test::expect_error([&] { read_checkpoint(path_); }, ExitCode::do_not_requeue,
                     {path_.string(), "rewritten by another program"});
  const auto damage = find_damage(path_);
  ASSERT_EQ(damage.size(), 2u);
  EXPECT_THAT(damage[1], ::testing::HasSubstr("'/model/fc1/bias' is damaged"));
}

}  // namespace
}  // namespace quern

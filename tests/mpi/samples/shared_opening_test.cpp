// SPDX-License-Identifier: Apache-2.0
// Ranks that share the opening of a set find what one process finds, and refuse what it refuses.
#include "samples/shared_opening.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "io/shard_format.hpp"
#include "io/shard_writer.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"
#include "support/world.hpp"

namespace quern::test {

using quern::testing::world;

namespace {

constexpr int kShards = 80;  // enough for all ranks to take part

void write(const std::filesystem::path& folder, std::int64_t samples = 200) {
  ShardContent content;
  content.shape = {1, 2, 2};
  content.classes = 3;
  content.class_names = {"a", "b c", "d"};
  std::vector<std::uint8_t> images(static_cast<std::size_t>(4 * samples));
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<std::uint8_t>(i);
  const std::vector<std::int32_t> labels(static_cast<std::size_t>(samples), 1);
  write_shards(folder, {"toy", "train", kShards}, content,
               ConstSampleArrays{images, {}, labels, {}}, Overwrite::yes);
}

std::filesystem::path shard(const std::filesystem::path& folder, int index) {
  return folder / to_string(ShardFileName{"toy", "train", index, kShards});
}

// One folder for all ranks, written by rank 0.
class SharedOpening : public ::testing::Test {
 protected:
  SharedOpening() : path_(broadcast_string(world(), own_.path().string())) {
    if (world().rank() == 0) write(path_);
    world().barrier();
  }
  ~SharedOpening() override { world().barrier(); }

  void damage(int index) {
    world().barrier();  // others may still open it
    if (world().rank() == 0) std::filesystem::resize_file(shard(path_, index), 100);
    world().barrier();
  }

  // What one process says to it.
  std::string refusal() const {
    try {
      ShardSet::open(path_, "train");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  void expect_same_refusal() {
    const std::string expected = refusal();
    ASSERT_NE(expected, "");
    try {
      open_shards_once(world(), path_.string(), "train");
      FAIL() << expected;
    } catch (const AgreedError& error) {
      EXPECT_EQ(error.what(), expected);
      EXPECT_EQ(error.code(), ExitCode::bad_input);
    }
  }

  TempDir own_;
  std::filesystem::path path_;
};

}  // namespace

TEST_F(SharedOpening, FindsWhatOneProcessFinds) {
  const ShardSet set = open_shards_once(world(), path_.string(), "train");
  const ShardSet expected = ShardSet::open(path_, "train");
  EXPECT_EQ(set.table(), expected.table());
  EXPECT_EQ(set.content_hash(), expected.content_hash());
  for (std::size_t i = 0; i < kShards; ++i) {
    EXPECT_EQ(set.shards()[i].path, expected.shards()[i].path);
    EXPECT_EQ(set.shards()[i].first_index, expected.shards()[i].first_index);
  }
}

TEST_F(SharedOpening, NamesTheFirstBadShard) {
  for (const int index : {79, 78, 41, 40, 0}) {
    damage(index);
    expect_same_refusal();
    EXPECT_NE(refusal().find(shard("", index).string()), std::string::npos);
  }
}

TEST_F(SharedOpening, NamesAShardThatContradictsOthers) {
  if (world().rank() == 0) {
    const TempDir other;
    write(other.path(), 300);
    std::filesystem::copy_file(shard(other.path(), 70), shard(path_, 70),
                               std::filesystem::copy_options::overwrite_existing);
  }
  world().barrier();
  expect_same_refusal();
  EXPECT_NE(refusal().find("total is 300, in the first shard 200"), std::string::npos);
  damage(75);
  expect_same_refusal();
  EXPECT_NE(refusal().find("total is 300"), std::string::npos);
}

TEST_F(SharedOpening, RefusesAMissingShardAndAMissingFolder) {
  if (world().rank() == 0) std::filesystem::remove(shard(path_, 66));
  world().barrier();
  expect_same_refusal();
  path_ /= "no";
  expect_same_refusal();
}

// On a node of its own, which lacks a file that the others have.
TEST_F(SharedOpening, NamesTheRankThatAloneCannotOpenAShard) {
  if (world().size() == 1) return;
  const std::filesystem::path before = std::filesystem::current_path();
  const TempDir here;
  write(here / "data");
  const int last = world().size() - 1;
  if (world().rank() == last) std::filesystem::remove(shard(here / "data", 79));
  std::filesystem::current_path(here.path());
  expect_error([&] { open_shards_once(world(), "data", "train"); }, ExitCode::bad_input,
               {"rank " + std::to_string(last) + " on " + world().host(last) + ": no file '",
                "00079-of-00080.h5"});
  std::filesystem::current_path(before);
}

}  // namespace quern::test

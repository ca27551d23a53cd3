// SPDX-License-Identifier: Apache-2.0
// Damages good files at random (seeded) places: a reader either finds good data or says what is
// wrong, and never crashes, hangs or asks for absurd memory.
#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "io/shard_set.hpp"
#include "io/shard_writer.hpp"
#include "support/damage.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using test::Bytes;
using test::damage;

TEST(Mutation, Shards) {
  const test::TempDir folder;
  std::mt19937 random(2);
  const Bytes images = test::counting(8 * 12);
  const Bytes labels = test::counting(8, 4);
  const auto path =
      write_shards(folder.path(), {"toy", "train", {3, 2, 2}, 4, 1}, images, labels, Overwrite::no)
          .at(0)
          .path;
  const Bytes good = test::read_file(path);
  int refused = 0;
  for (int round = 0; round < 500; ++round) {
    test::write_file(path, damage(good, random));
    try {
      const ShardSet set = ShardSet::open(folder.path(), "train");
      Bytes images_read(static_cast<std::size_t>(set.count() * set.shape().units()));
      std::vector<std::int32_t> labels_read(static_cast<std::size_t>(set.count()));
      set.read_share(0, 1, 1, {.images = images_read, .labels = labels_read});
      EXPECT_EQ(images_read, images);
      EXPECT_EQ(Bytes(labels_read.begin(), labels_read.end()), labels);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 150);
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Damages good files at random (seeded) places: a reader either finds good data or says what is
// wrong, and never crashes, hangs or asks for absurd memory.
#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "io/idx_reader.hpp"
#include "io/shard_set.hpp"
#include "io/shard_writer.hpp"
#include "support/idx_files.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using test::Bytes;

Bytes damage(Bytes bytes, std::mt19937& random) {
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  if (below(4) == 0) {
    bytes.resize(below(bytes.size()));
    return bytes;
  }
  for (std::size_t flips = 1 + below(3); flips > 0; --flips) {
    const auto value = static_cast<std::uint8_t>(1 + below(255));
    bytes[below(bytes.size())] ^= value;
  }
  return bytes;
}

TEST(Mutation, IdxFiles) {
  const test::TempDir folder;
  std::mt19937 random(1);
  const Bytes plain = test::idx({5, 2, 3, 4}, test::counting(120));
  int refused = 0;
  for (const Bytes& good : {plain, test::gzip(plain)}) {
    for (int round = 0; round < 300; ++round) {
      test::write_file(folder / "file", damage(good, random));
      try {
        const IdxImages images = read_idx_images(folder / "file");
        EXPECT_EQ(static_cast<std::int64_t>(images.pixels.size()),
                  images.count * images.shape.units());
      } catch (const InputError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 300);
}

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
      Bytes images_read(static_cast<std::size_t>(set.image_bytes()));
      Bytes labels_read(static_cast<std::size_t>(set.label_bytes()));
      set.read_share(0, 1, 1, images_read, labels_read);
      EXPECT_EQ(images_read, images);
      EXPECT_EQ(labels_read, labels);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 150);
}

}  // namespace
}  // namespace quern

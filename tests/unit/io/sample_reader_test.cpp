// SPDX-License-Identifier: Apache-2.0
// Samples out of the middle of shards: what read_share() makes of the whole set, and the same
// refusals.
#include "io/sample_reader.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/sha256.hpp"
#include "io/h5_file.hpp"
#include "io/shard_set.hpp"
#include "io/shard_writer.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using test::expect_error;

// Blocks of 16 KiB have one to five samples of the sizes below.
constexpr std::size_t kSamples = 200;
constexpr int kUnits = 3000;

struct Arrays {
  std::vector<std::uint8_t> images;
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;

  Arrays(const ShardContent& content, std::size_t count) {
    const auto units = static_cast<std::size_t>(content.shape.units());
    if (content.has_pixels())
      images.resize(count * units, 9);
    else
      values.resize(count * units, 9);
    if (content.has_labels()) labels.resize(count, 9);
    if (content.has_targets())
      targets.resize(count * static_cast<std::size_t>(content.target_shape.units()), 9);
  }
  SampleArrays all() { return {images, values, labels, targets}; }
  ConstSampleArrays all() const { return {images, values, labels, targets}; }
  friend bool operator==(const Arrays&, const Arrays&) = default;
};

ShardContent content_of(StoredType input, Answer answer, StoredType answer_type) {
  ShardContent content;
  content.input = input;
  content.shape = {3, 10, 100};
  content.answer = answer;
  content.answer_type = answer_type;
  content.classes = answer == Answer::labels ? 300 : 0;
  if (answer_type == StoredType::uint8 && answer == Answer::labels) content.classes = 10;
  if (answer == Answer::targets) content.target_shape = {4, 1, 1};
  return content;
}

std::vector<ShardContent> contents() {
  using enum StoredType;
  return {content_of(uint8, Answer::labels, uint8), content_of(uint8, Answer::labels, int32),
          content_of(float32, Answer::targets, float32), content_of(float16, Answer::labels, uint8),
          content_of(float16, Answer::none, uint8)};
}

/// Of this process, until the end of the scope.
class OpenFileLimit {
 public:
  explicit OpenFileLimit(rlim_t files) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit changed{files, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &changed), 0);
  }
  OpenFileLimit(const OpenFileLimit&) = delete;
  OpenFileLimit& operator=(const OpenFileLimit&) = delete;
  ~OpenFileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// The names of those that this process has open.
std::set<std::string> open_shards() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::read_symlink(entry.path(), error);
    if (file.extension() == ".h5") names.insert(file.filename().string());
  }
  return names;
}

class SampleReaderTest : public testing::Test {
 protected:
  ShardSet write(const ShardContent& content, int num_shards = 3, std::size_t count = kSamples) {
    Arrays samples(content, count);
    for (std::size_t i = 0; i < samples.images.size(); ++i)
      samples.images[i] = static_cast<std::uint8_t>(i * 31 % 251);
    for (std::size_t i = 0; i < samples.values.size(); ++i)
      samples.values[i] = static_cast<float>(i % 2039) / 8;
    for (std::size_t i = 0; i < samples.labels.size(); ++i)
      samples.labels[i] =
          static_cast<std::int32_t>(i * 7 % static_cast<std::size_t>(content.classes));
    for (std::size_t i = 0; i < samples.targets.size(); ++i)
      samples.targets[i] = static_cast<float>(i) / 3;
    write_shards(folder_.path(), {"toy", "train", num_shards}, content,
                 static_cast<const Arrays&>(samples).all(), Overwrite::yes);
    return ShardSet::open(folder_.path(), "train");
  }

  // Of the second shard, which holds the samples 66 to 132.
  void overwrite(const ShardSet& set, std::int64_t offset, const std::string& bytes) {
    std::fstream file(set.shards()[1].path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  // What the table of a set says of a shard's blocks.
  static std::string blocks_in_table(const Shard& shard) {
    return " " + std::to_string(shard.block_samples) + " " + std::to_string(shard.block_digits) +
           " " + std::to_string(shard.block_sums_offset) + " " + shard.sha256_blocks;
  }

  void expect_refused(const ShardSet& set, std::int64_t first, std::int64_t count,
                      std::initializer_list<std::string> parts) {
    Arrays arrays(set.content(), kSamples);
    SampleReader reader(set);
    expect_error(
        [&] {
          reader.read(first, count, 0, arrays.all());
          reader.finish();
        },
        ExitCode::do_not_requeue, parts);
  }

  test::TempDir folder_;
};

TEST_F(SampleReaderTest, ReadsAnyPartOfAnySet) {
  for (const ShardContent& content : contents()) {
    const ShardSet set = write(content);
    Arrays whole(content, kSamples);
    set.read_share(0, 1, 1, whole.all());
    SampleReader reader(set);
    Arrays read(content, kSamples);
    // Into the last places first, so that the order of reading shows nothing.
    for (const std::int64_t step : {1, 7, 40, 200}) {
      read = Arrays(content, kSamples);
      for (std::int64_t end = kSamples; end > 0; end -= step) {
        const std::int64_t first = std::max<std::int64_t>(0, end - step);
        reader.read(first, end - first, first, read.all());
      }
      reader.finish();
      EXPECT_TRUE(read == whole) << to_string(content) << " by " << step;
    }
  }
}

TEST_F(SampleReaderTest, LeavesOtherPlacesAlone) {
  const ShardSet set = write(contents()[0]);
  Arrays some(set.content(), 3);
  SampleReader reader(set);
  reader.read(65, 2, 1, some.all());
  reader.finish();
  EXPECT_EQ(std::count(some.images.begin(), some.images.begin() + kUnits, 9), kUnits);
  EXPECT_EQ(some.labels[0], 9);
  EXPECT_NE(some.labels[1], 9);
}

TEST_F(SampleReaderTest, OpensMoreShardsThanAProcessMay) {
  const ShardSet set = write(contents()[0], 150);
  const OpenFileLimit limit(128);
  Arrays whole(set.content(), kSamples);
  set.read_share(0, 1, 1, whole.all());
  Arrays read(set.content(), kSamples);
  SampleReader reader(set);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t i = 0; i < std::int64_t{kSamples}; ++i) reader.read(i, 1, i, read.all());
  reader.finish();
  EXPECT_EQ(open_shards().size(), 128 / 4) << "the rest is for others";
  EXPECT_TRUE(read == whole);
}

TEST_F(SampleReaderTest, KeepsAsManyShardsOpenAsItMay) {
  const ShardSet set = write(contents()[0], 150);
  const OpenFileLimit limit(1024);
  Arrays read(set.content(), kSamples);
  SampleReader reader(set);
  reader.read(0, kSamples, 0, read.all());
  reader.finish();
  EXPECT_EQ(open_shards().size(), 150);
}

// What was asked for in vain would be asked for again.
TEST_F(SampleReaderTest, ClosesNoShardThatItHasAnnounced) {
  const ShardSet set = write(contents()[0], 150);
  const OpenFileLimit limit(256);
  const auto first_shards = [&](std::size_t first, std::size_t count) {
    std::set<std::string> names;
    for (std::size_t i = first; i < first + count; ++i)
      names.insert(set.shards()[i].path.filename().string());
    return names;
  };
  Arrays read(set.content(), kSamples);
  SampleReader reader(set);
  const auto announce_all = [&](std::size_t from) {
    for (std::size_t i = from; i < 150; ++i)
      reader.announce(set.shards()[i].first_index, set.shards()[i].count);
  };
  announce_all(0);
  EXPECT_EQ(open_shards(), first_shards(0, 64));
  for (std::size_t i = 0; i < 10; ++i)
    reader.read(set.shards()[i].first_index, set.shards()[i].count, 0, read.all());
  reader.finish();
  announce_all(64);
  EXPECT_EQ(open_shards(), first_shards(10, 64));
}

// Whoever announces and reads something else gets it.
TEST_F(SampleReaderTest, ReadsWhatItHasNotAnnounced) {
  const ShardSet set = write(contents()[0], 150);
  const OpenFileLimit limit(64);
  Arrays whole(set.content(), kSamples);
  set.read_share(0, 1, 1, whole.all());
  Arrays read(set.content(), kSamples);
  SampleReader reader(set);
  reader.announce(0, kSamples);
  reader.read(100, 100, 100, read.all());
  reader.read(0, 100, 0, read.all());
  reader.finish();
  EXPECT_TRUE(read == whole);
}

TEST_F(SampleReaderTest, FindsDamageInItsBlock) {
  for (const ShardContent& content : contents()) {
    const ShardSet set = write(content);
    const Shard& shard = set.shards()[1];
    const std::int64_t bytes = content.input_bytes();
    overwrite(set, shard.input_offset + 40 * bytes + 5, "\x7b");
    expect_refused(set, 100, 10, {shard.path.filename().string(), "are damaged", "XXH3"});
    // The samples of another block are as good as before.
    Arrays arrays(content, kSamples);
    SampleReader good(set);
    good.read(66, 1, 0, arrays.all());
    good.finish();
    if (content.answer == Answer::none) continue;
    const ShardSet again = write(content);
    overwrite(again, shard.answer_offset + 40 * content.answer_bytes(), "\x05");
    expect_refused(again, 66 + 40, 1, {shard.path.filename().string(), "are damaged"});
  }
}

// More than the threads read at the same time.
TEST_F(SampleReaderTest, ReadsManyPiecesSideBySide) {
  constexpr std::int64_t kMany = 900;
  const ShardContent content =
      content_of(StoredType::float32, Answer::targets, StoredType::float32);
  const ShardSet set = write(content, 3, kMany);
  Arrays whole(content, kMany);
  set.read_share(0, 1, 1, whole.all());
  SampleReader reader(set);
  for (int epoch = 0; epoch < 2; ++epoch) {
    Arrays read(content, kMany);
    reader.announce(0, kMany);
    reader.read(0, kMany, 0, read.all());
    reader.finish();
    EXPECT_TRUE(read == whole) << "epoch " << epoch;
  }
  const auto refuse = [&](std::initializer_list<std::string> parts) {
    SampleReader other(set);
    Arrays read(content, kMany);  // gone before the reader is
    expect_error(
        [&] {
          other.read(0, kMany, 0, read.all());
          other.finish();
        },
        ExitCode::do_not_requeue, parts);
  };
  std::filesystem::remove(set.shards()[2].path);
  refuse({set.shards()[2].path.filename().string(), "cannot be opened"});
  write(content, 3, kMany);
  overwrite(set, set.shards()[1].input_offset + 5, "\x7b");
  refuse({set.shards()[1].path.filename().string(), "are damaged"});
}

// Of pieces so small that they wait for others.
TEST_F(SampleReaderTest, FindsDamageBetweenReadingAndFinishing) {
  const ShardContent content = contents()[0];
  const ShardSet set = write(content);
  Arrays arrays(content, kSamples);
  SampleReader reader(set);
  reader.read(0, kSamples, 0, arrays.all());
  reader.finish();
  reader.read(100, 1, 0, arrays.all());
  overwrite(set, set.shards()[1].input_offset + 34 * content.input_bytes() + 5, "\x7b");
  expect_error([&] { reader.finish(); }, ExitCode::do_not_requeue, {"are damaged", "XXH3"});
}

// What was read and verified is trusted, but no longer once the file has changed.
TEST_F(SampleReaderTest, FindsDamageOfWhatItHasReadBefore) {
  for (const ShardContent& content : contents()) {
    const ShardSet set = write(content);
    const Shard& shard = set.shards()[1];
    Arrays whole(content, kSamples);
    set.read_share(0, 1, 1, whole.all());
    Arrays arrays(content, kSamples);
    SampleReader reader(set);
    for (int epoch = 0; epoch < 2; ++epoch) {
      arrays = Arrays(content, kSamples);
      reader.read(50, 100, 50, arrays.all());
      reader.read(0, 50, 0, arrays.all());
      reader.read(150, 50, 150, arrays.all());
      reader.finish();
      ASSERT_TRUE(arrays == whole) << to_string(content) << " in epoch " << epoch;
    }
    overwrite(set, shard.input_offset + 40 * content.input_bytes() + 5, "\x7b");
    expect_error(
        [&] {
          reader.read(100, 10, 0, arrays.all());
          reader.finish();
        },
        ExitCode::do_not_requeue, {shard.path.filename().string(), "are damaged", "XXH3"});
    reader.read(66, 1, 0, arrays.all());
    reader.finish();
  }
}

TEST(KnownBlocks, HoldForOneStateOfAFile) {
  KnownBlocks known;
  known.expect_state({1, 2, 300, 4, 5});
  EXPECT_FALSE(known.has_all(0, 1));
  known.add({1, 2, 300, 4, 9}, 0, 5);
  EXPECT_FALSE(known.has_all(0, 1)) << "of another state";
  known.add(known.state(), 2, 5);
  EXPECT_TRUE(known.has_all(2, 5));
  EXPECT_TRUE(known.has_all(3, 4));
  EXPECT_FALSE(known.has_all(1, 3));
  EXPECT_FALSE(known.has_all(4, 6));
  known.expect_state({1, 2, 300, 4, 5});
  EXPECT_TRUE(known.has_all(2, 5));
  const std::vector<KnownBlocks::FileState> others{{2, 2, 300, 4, 5},
                                                   {1, 3, 300, 4, 5},
                                                   {1, 2, 301, 4, 5},
                                                   {1, 2, 300, 5, 5},
                                                   {1, 2, 300, 4, 6}};
  for (const KnownBlocks::FileState& other : others) {
    KnownBlocks copy = known;
    copy.expect_state(other);
    EXPECT_FALSE(copy.has_all(2, 3));
  }
}

TEST_F(SampleReaderTest, FindsDamageOfTheChecksums) {
  const ShardSet set = write(contents()[0]);
  overwrite(set, set.shards()[1].block_sums_offset + 3, "x");
  expect_refused(set, 66, 1, {"are damaged"});
}

// Shards of an older program have a SHA-256 of each block: here at the end of the file.
TEST_F(SampleReaderTest, VerifiesOlderShardsBySha256) {
  for (const ShardContent& content : contents()) {
    const ShardSet set = write(content);
    std::string table = set.table();
    for (Shard shard : set.shards()) {
      const std::string stated = blocks_in_table(shard);
      std::fstream file(shard.path, std::ios::in | std::ios::out | std::ios::binary);
      const auto stored = [&](std::int64_t offset, std::int64_t bytes) {
        std::vector<std::byte> result(static_cast<std::size_t>(shard.count * bytes));
        file.seekg(offset);
        file.read(reinterpret_cast<char*>(result.data()),
                  static_cast<std::streamsize>(result.size()));
        return result;
      };
      const auto inputs = stored(shard.input_offset, content.input_bytes());
      const auto answers = stored(shard.answer_offset, content.answer_bytes());
      std::string sums;
      for (std::int64_t first = 0; first < shard.count; first += shard.block_samples) {
        const std::int64_t count = std::min(shard.block_samples, shard.count - first);
        std::vector<std::byte> block;
        const auto append = [&](const std::vector<std::byte>& all, std::int64_t bytes) {
          const auto begin = all.begin() + first * bytes;
          block.insert(block.end(), begin, begin + count * bytes);
        };
        append(inputs, content.input_bytes());
        append(answers, content.answer_bytes());
        sums += sha256(block);
      }
      file.seekp(0, std::ios::end);
      shard.block_digits = kSha256Digits;
      shard.block_sums_offset = file.tellp();
      file << sums;
      table.replace(table.find(stated), stated.size(), blocks_in_table(shard));
    }
    const ShardSet old(folder_.path(), table);
    Arrays whole(content, kSamples);
    set.read_share(0, 1, 1, whole.all());
    Arrays read(content, kSamples);
    SampleReader reader(old);
    reader.read(0, kSamples, 0, read.all());
    reader.finish();
    EXPECT_TRUE(read == whole) << to_string(content);
    overwrite(set, set.shards()[1].input_offset + 40 * content.input_bytes() + 5, "\x7b");
    expect_refused(old, 100, 10, {"are damaged", "SHA-256"});
  }
}

// Still older ones have no checksums of blocks.
TEST_F(SampleReaderTest, WithoutChecksumsChecksWhatNumbersMean) {
  const ShardSet set = write(content_of(StoredType::float32, Answer::labels, StoredType::int32));
  std::string table = set.table();
  for (const Shard& shard : set.shards()) {
    const std::string stated = blocks_in_table(shard);
    table.replace(table.find(stated), stated.size(), " 0 0 0");
  }
  const ShardSet old(folder_.path(), table);
  Arrays whole(set.content(), kSamples);
  set.read_share(0, 1, 1, whole.all());
  Arrays read(set.content(), kSamples);
  SampleReader reader(old);
  reader.read(0, kSamples, 0, read.all());
  reader.finish();
  EXPECT_TRUE(read == whole);

  const Shard& shard = set.shards()[1];
  const std::string nan("\x00\x00\xc0\x7f", 4);
  overwrite(set, shard.input_offset + 2 * set.content().input_bytes(), nan);
  expect_refused(old, 60, 20, {"values of sample 68", "expected finite"});
  overwrite(set, shard.answer_offset + 4 * 5, std::string("\x00\x00\x01\x00", 4));
  expect_refused(old, 70, 2, {"label 65536 of sample 71", "0 to 299"});
}

TEST_F(SampleReaderTest, NamesAShardThatIsGoneOrCut) {
  const ShardSet set = write(contents()[2]);
  const Shard& shard = set.shards()[1];
  const std::string name = shard.path.filename().string();
  ASSERT_EQ(truncate(shard.path.c_str(), shard.input_offset + 50000), 0);
  expect_refused(set, 66, 10, {name, "ends after", "was changed"});
  std::filesystem::remove(shard.path);
  expect_refused(set, 66, 10, {name, "cannot be opened: No such file"});
  Arrays arrays(set.content(), kSamples);
  SampleReader good(set);
  good.read(0, 66, 0, arrays.all());
  good.finish();
}

}  // namespace
}  // namespace quern

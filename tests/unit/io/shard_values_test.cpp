// SPDX-License-Identifier: Apache-2.0
// Shards of values and targets: version 2 of the format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "base/sha256.hpp"
#include "io/h5_file.hpp"
#include "io/shard_set.hpp"
#include "io/shard_writer.hpp"
#include "support/expect_error.hpp"
#include "support/idx_files.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using test::expect_error;

constexpr std::size_t kSamples = 7;
const ShardSetName kName = {"toy", "train", 2};

struct Data {
  std::vector<std::uint8_t> images = std::vector<std::uint8_t>(kSamples * 6);
  std::vector<float> values = std::vector<float>(kSamples * 6);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(kSamples);
  std::vector<float> targets = std::vector<float>(kSamples * 2);

  ConstSampleArrays of(const ShardContent& content) const {
    ConstSampleArrays arrays;
    if (content.has_pixels())
      arrays.images = images;
    else
      arrays.values = values;
    if (content.has_labels()) arrays.labels = labels;
    if (content.has_targets()) arrays.targets = targets;
    return arrays;
  }
  SampleArrays arrays() { return {images, values, labels, targets}; }
};

Data some_data() {
  Data data;
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    data.values[i] = static_cast<float>(i) * 0.25f - 3;
    data.images[i] = static_cast<std::uint8_t>(i);
  }
  for (std::size_t i = 0; i < data.labels.size(); ++i) data.labels[i] = static_cast<int>(i) * 41;
  for (std::size_t i = 0; i < data.targets.size(); ++i) data.targets[i] = static_cast<float>(i) / 3;
  return data;
}

ShardContent content_of(StoredType input, Answer answer) {
  ShardContent content;
  content.input = input;
  content.shape = {1, 3, 2};
  content.answer = answer;
  content.answer_type = answer == Answer::targets  ? StoredType::float32
                        : answer == Answer::labels ? StoredType::int32
                                                   : StoredType::uint8;
  if (answer == Answer::labels) content.classes = 300;
  if (answer == Answer::targets) content.target_shape = {2, 1, 1};
  return content;
}

class ShardValuesTest : public testing::Test {
 protected:
  ShardSet write(const ShardContent& content, const Data& data) {
    write_shards(folder_.path(), kName, content, data.of(content), Overwrite::yes);
    return ShardSet::open(folder_.path(), "train");
  }
  void expect_refused(const ShardContent& content, const Data& data,
                      std::initializer_list<std::string> parts) {
    expect_error(
        [&] { write_shards(folder_ / "new", kName, content, data.of(content), Overwrite::no); },
        ExitCode::bad_input, parts);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
  }

  test::TempDir folder_;
};

TEST_F(ShardValuesTest, EveryKindIsReadBack) {
  const Data data = some_data();
  std::vector<std::string> hashes;
  for (const StoredType input : {StoredType::uint8, StoredType::float16, StoredType::float32}) {
    for (const Answer answer : {Answer::none, Answer::labels, Answer::targets}) {
      const ShardContent content = content_of(input, answer);
      const ShardSet set = write(content, data);
      EXPECT_EQ(set.content(), content) << to_string(set.content());
      EXPECT_EQ(set.stored_bytes(), 7 * (content.input_bytes() + content.answer_bytes()));
      const ShardSet copy(folder_.path(), set.table());
      EXPECT_EQ(copy.content(), content);
      EXPECT_EQ(copy.table(), set.table());
      Data read;
      copy.read_share(0, 2, 1, read.arrays());
      copy.read_share(1, 2, 3, read.arrays());
      const Data empty;
      EXPECT_EQ(read.images, content.has_pixels() ? data.images : empty.images);
      EXPECT_EQ(read.values, content.has_pixels() ? empty.values : data.values);
      EXPECT_EQ(read.labels, content.has_labels() ? data.labels : empty.labels);
      EXPECT_EQ(read.targets, content.has_targets() ? data.targets : empty.targets);
      hashes.push_back(set.content_hash());
    }
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

TEST_F(ShardValuesTest, FilesAreAsTheFormatSays) {
  ShardContent content = content_of(StoredType::float16, Answer::targets);
  write(content, some_data());
  const H5File file = H5File::open_read(folder_ / "toy-train-00001-of-00002.h5");
  EXPECT_EQ(file.read_int64("/", "format_version"), 2);
  EXPECT_EQ(file.dataset_info("/values").type, H5Type::float16);
  EXPECT_THAT(file.dataset_info("/values").shape, testing::ElementsAre(4, 1, 3, 2));
  EXPECT_THAT(file.dataset_info("/targets").shape, testing::ElementsAre(4, 2));
  EXPECT_EQ(file.read_string("/", "sha256_targets").size(), 64u);
  EXPECT_FALSE(file.has_attribute("/", "classes"));
  EXPECT_FALSE(file.has_dataset("/images"));
}

// Images with labels that fit into bytes are written as before, for programs that know no
// version 2.
TEST_F(ShardValuesTest, VersionOneWhereItSuffices) {
  ShardContent content = content_of(StoredType::uint8, Answer::labels);
  EXPECT_EQ(format_version_of(content), 2);
  content.answer_type = StoredType::uint8;
  EXPECT_EQ(format_version_of(content), 1);
  EXPECT_EQ(format_version_of(content_of(StoredType::uint8, Answer::none)), 2);
}

TEST_F(ShardValuesTest, NumbersThatAreNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    Data data = some_data();
    data.values[13] = bad;
    expect_refused(content_of(StoredType::float32, Answer::none), data,
                   {"the values of sample 2", "finite float32"});
    data = some_data();
    data.targets[3] = bad;
    expect_refused(content_of(StoredType::float32, Answer::targets), data,
                   {"the targets of sample 1"});
  }
  Data data = some_data();
  data.values[6] = 65520;
  expect_refused(content_of(StoredType::float16, Answer::none), data,
                 {"the values of sample 1 hold 65520", "finite float16"});
  data.values[6] = 65519;
  write(content_of(StoredType::float16, Answer::none), data);
}

TEST_F(ShardValuesTest, ArraysThatDoNotFit) {
  Data data = some_data();
  data.labels[4] = 300;
  expect_refused(content_of(StoredType::float32, Answer::labels), data,
                 {"label 300 of sample 4", "0 to 299"});
  data.labels[4] = -1;
  expect_refused(content_of(StoredType::float32, Answer::labels), data, {"label -1 of sample 4"});
  data.targets.pop_back();
  expect_refused(content_of(StoredType::float32, Answer::targets), data,
                 {"7 values but 6 targets"});
  ShardContent content = content_of(StoredType::float32, Answer::labels);
  content.classes = 0;
  expect_refused(content, some_data(), {"0 classes"});
}

// What others may write, and what nobody can train on.
TEST_F(ShardValuesTest, BadShardsOfOthers) {
  const auto path = folder_ / "toy-train-00000-of-00001.h5";
  const auto make = [&](const std::function<void(H5File&)>& write) {
    H5File file = H5File::create(path);
    file.write_string("/", "format", "quern-shard");
    file.write_int64("/", "format_version", 2);
    file.write_string("/", "split", "train");
    for (const char* name : {"shard_index", "first_index"}) file.write_int64("/", name, 0);
    file.write_int64("/", "shard_count", 1);
    file.write_int64("/", "total", 2);
    write(file);
    file.close();
  };
  const auto expect_bad = [&](std::initializer_list<std::string> parts) {
    expect_error([&] { ShardSet::open(folder_.path(), "train"); }, ExitCode::bad_input, parts);
  };
  using Extents = std::vector<std::int64_t>;
  const std::vector<float> values = {1, 2, 3, std::numeric_limits<float>::quiet_NaN()};
  make([&](H5File& f) { f.write_dataset("/labels", test::counting(2), Extents{2}); });
  expect_bad({"no dataset '/images'"});
  make([&](H5File& f) { f.write_dataset("/values", test::counting(4), Extents{2, 2}); });
  expect_bad({"'/values' is of uint8", "expected float32 or float16"});
  make([&](H5File& f) {
    f.write_dataset("/values", values, Extents{2, 2});
    f.write_dataset("/images", test::counting(4), Extents{2, 1, 1, 2});
  });
  expect_bad({"both '/images' and '/values'"});
  make([&](H5File& f) {
    f.write_dataset("/values", values, Extents{2, 2});
    f.write_string("/", "sha256_values", std::string(64, '0'));
    f.write_dataset("/targets", values, Extents{4});
  });
  expect_bad({"2 values but 4 targets"});
  make([&](H5File& f) {
    f.write_dataset("/values", values, Extents{2, 2});
    f.write_string("/", "sha256_values",
                   sha256(std::as_bytes(std::span(values.data(), values.size()))));
  });
  Data data;
  expect_error([&] { ShardSet::open(folder_.path(), "train").read_share(0, 1, 1, data.arrays()); },
               ExitCode::do_not_requeue, {"the values of sample 1 hold nan", "finite"});
}

TEST_F(ShardValuesTest, FlippedBytesAreFound) {
  for (const StoredType input : {StoredType::float16, StoredType::float32}) {
    const ShardSet set = write(content_of(input, Answer::targets), some_data());
    const auto path = folder_ / "toy-train-00000-of-00002.h5";
    const test::Bytes good = test::read_file(path);
    const auto offset = static_cast<std::size_t>(
        H5File::open_read(path)
            .dataset_info(input == StoredType::float16 ? "/values" : "/targets")
            .offset);
    test::Bytes bad = good;
    bad[offset + 1] ^= 1;
    test::write_file(path, bad);
    Data data;
    expect_error([&] { set.read_share(0, 1, 1, data.arrays()); }, ExitCode::do_not_requeue,
                 {"damaged", "SHA-256"});
  }
}

}  // namespace
}  // namespace quern

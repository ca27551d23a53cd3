// SPDX-License-Identifier: Apache-2.0
// Shards made by hand, each with one thing wrong.
#include "io/shard_header.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/sha256.hpp"
#include "io/h5_file.hpp"
#include "io/shard_set.hpp"
#include "support/expect_error.hpp"
#include "support/idx_files.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using test::Bytes;
using test::counting;
using Extents = std::vector<std::int64_t>;
using Writer = std::function<void(H5File&)>;

class ShardHeaderTest : public testing::Test {
 protected:
  // The shard of four 2 x 3 images, with `write` in place of the part called `name`.
  void make(
      const std::string& name = "", const Writer& write = [](H5File&) {}) {
    const Bytes images = counting(24);
    const Bytes labels = {0, 1, 2, 2};
    const std::vector<std::pair<std::string, Writer>> parts = {
        {"images",
         [&](H5File& f) {
           f.write_dataset("/images", images, Extents{4, 1, 2, 3});
         }},
        {"labels", [&](H5File& f) { f.write_dataset("/labels", labels, Extents{4}); }},
        {"format", [](H5File& f) { f.write_string("/", "format", "quern-shard"); }},
        {"format_version", [](H5File& f) { f.write_int64("/", "format_version", 1); }},
        {"split", [](H5File& f) { f.write_string("/", "split", "train"); }},
        {"shard_index", [](H5File& f) { f.write_int64("/", "shard_index", 0); }},
        {"shard_count", [](H5File& f) { f.write_int64("/", "shard_count", 1); }},
        {"first_index", [](H5File& f) { f.write_int64("/", "first_index", 0); }},
        {"total", [](H5File& f) { f.write_int64("/", "total", 4); }},
        {"classes", [](H5File& f) { f.write_int64("/", "classes", 3); }},
        {"sha256_images", [&](H5File& f) { write_sha256(f, "sha256_images", images); }},
        {"sha256_labels", [&](H5File& f) { write_sha256(f, "sha256_labels", labels); }},
    };
    H5File file = H5File::create(path_);
    for (const auto& [part, write_part] : parts) {
      if (part != name) write_part(file);
    }
    write(file);
    file.close();
  }

  static void write_sha256(H5File& file, const char* name, const Bytes& bytes) {
    file.write_string("/", name, sha256(std::as_bytes(std::span(bytes))));
  }

  void expect_refused(std::initializer_list<std::string> parts) {
    test::expect_error([&] { ShardSet::open(folder_.path(), "train"); }, ExitCode::bad_input,
                       parts);
  }

  test::TempDir folder_;
  std::filesystem::path path_ = folder_ / "toy-train-00000-of-00001.h5";
};

TEST_F(ShardHeaderTest, TheShardMadeByHandIsGood) {
  make();
  const ShardHeader header = read_shard_header({path_, {"toy", "train", 0, 1}});
  EXPECT_EQ(header.shard.count, 4);
  EXPECT_EQ(header.content.shape, (Shape{1, 2, 3}));
  EXPECT_EQ(header.content.classes, 3);
}

TEST_F(ShardHeaderTest, NamesOfClassesInAnotherEncoding) {
  make("", [](H5File& f) { f.write_string("/", "class_names", "caf\xe9\ndog\ngr\xc3\xbcn"); });
  const ShardSet set = ShardSet::open(folder_.path(), "train");
  const std::vector<std::string> names = {"caf\\xe9", "dog", "grün"};
  EXPECT_EQ(set.content().class_names, names);
  EXPECT_EQ(ShardSet(folder_.path(), set.table()).content().class_names, names);
}

TEST_F(ShardHeaderTest, EveryPartIsNeeded) {
  for (const char* part :
       {"images", "labels", "format", "format_version", "split", "shard_index", "shard_count",
        "first_index", "total", "classes", "sha256_images", "sha256_labels"}) {
    make(part);
    expect_refused({"toy-train-00000-of-00001.h5", part});
  }
}

TEST_F(ShardHeaderTest, WrongFormat) {
  make("format", [](H5File& f) { f.write_string("/", "format", "quern-checkpoint"); });
  expect_refused({"'quern-checkpoint'", "expected 'quern-shard'"});
  make("format_version", [](H5File& f) { f.write_int64("/", "format_version", 3); });
  expect_refused({"format_version is 3", "reads 1 to 2"});
}

TEST_F(ShardHeaderTest, AttributesOfWrongTypes) {
  make("format", [](H5File& f) { f.write_int64("/", "format", 1); });
  expect_refused({"'format'", "expected one string"});
  make("total", [](H5File& f) { f.write_string("/", "total", "4"); });
  expect_refused({"'total'", "expected one integer"});
  make("classes", [](H5File& f) { f.write_double("/", "classes", 3.0); });
  expect_refused({"'classes'", "expected one integer"});
}

TEST_F(ShardHeaderTest, NumbersOutOfRange) {
  make("classes", [](H5File& f) { f.write_int64("/", "classes", 257); });
  expect_refused({"'classes' is 257", "1 to 256"});
  make("total", [](H5File& f) { f.write_int64("/", "total", -4); });
  expect_refused({"'total' is -4"});
  make("total", [](H5File& f) { f.write_int64("/", "total", 5); });
  expect_refused({"hold 4 samples", "expected 5"});
  make("first_index", [](H5File& f) { f.write_int64("/", "first_index", 1); });
  expect_refused({"first_index is 1", "0 samples"});
  make("shard_count", [](H5File& f) { f.write_int64("/", "shard_count", 1000000); });
  expect_refused({"'shard_count' is 1000000"});
  make("split", [](H5File& f) { f.write_string("/", "split", "test"); });
  expect_refused({"split 'test'", "its name disagrees"});
  make("sha256_images", [](H5File& f) { f.write_string("/", "sha256_images", "abc"); });
  expect_refused({"'sha256_images'", "64"});
}

// Shards of older programs have none.
TEST_F(ShardHeaderTest, ChecksumsOfBlocks) {
  const auto with_blocks = [](std::int64_t samples, const Extents& extents) {
    return [=](H5File& f) {
      const Bytes sums(static_cast<std::size_t>(extents[0] * extents[1]), '0');
      f.write_dataset("/blocks", sums, extents);
      f.write_int64("/", "block_samples", samples);
      write_sha256(f, "sha256_blocks", sums);
    };
  };
  make("", with_blocks(3, {2, 64}));
  EXPECT_EQ(read_shard_header({path_, {"toy", "train", 0, 1}}).shard.block_samples, 3);
  make();
  EXPECT_EQ(read_shard_header({path_, {"toy", "train", 0, 1}}).shard.block_samples, 0);
  make("", with_blocks(0, {2, 64}));
  expect_refused({"'block_samples' is 0", "1 to 4"});
  make("", with_blocks(3, {3, 64}));
  expect_refused({"'/blocks'", "[3, 64]", "expected uint8 [2, 32 or 64]"});
  make("", with_blocks(3, {2, 16}));
  expect_refused({"'/blocks'", "[2, 16]"});
  make("", [](H5File& f) {
    f.write_dataset("/blocks", std::vector<float>(128), Extents{2, 64});
    f.write_int64("/", "block_samples", 3);
  });
  expect_refused({"'/blocks'", "float32"});
  make("", [](H5File& f) { f.write_dataset("/blocks", Bytes(128), Extents{2, 64}); });
  expect_refused({"block_samples"});
}

TEST_F(ShardHeaderTest, DatasetsOfWrongTypeRankOrSize) {
  make("images", [](H5File& f) {
    f.write_dataset("/images", std::vector<float>(24), Extents{4, 1, 2, 3});
  });
  expect_refused({"'/images'", "float32", "expected uint8"});
  make("images", [](H5File& f) { f.write_dataset("/images", counting(24), Extents{4, 2, 3}); });
  expect_refused({"'/images'", "[4, 2, 3]", "[n, channels, height, width]"});
  make("labels", [](H5File& f) { f.write_dataset("/labels", counting(4), Extents{4, 1}); });
  expect_refused({"'/labels'", "[4, 1]", "[n]"});
  make("labels", [](H5File& f) { f.write_dataset("/labels", counting(3), Extents{3}); });
  expect_refused({"4 images but 3 labels"});
  make("images", [](H5File& f) { f.write_dataset("/images", Bytes(), Extents{4, 0, 2, 3}); });
  expect_refused({"[4, 0, 2, 3]"});
  make("images", [](H5File& f) { f.create_group("/images"); });
  expect_refused({"no dataset '/images'"});
}

TEST_F(ShardHeaderTest, LabelsOutOfRangeAreFoundOnReading) {
  make("classes", [](H5File& f) { f.write_int64("/", "classes", 2); });
  const ShardSet set = ShardSet::open(folder_.path(), "train");
  Bytes images(24);
  std::vector<std::int32_t> labels(4);
  const SampleArrays arrays = {.images = images, .labels = labels};
  test::expect_error([&] { set.read_share(0, 1, 1, arrays); }, ExitCode::do_not_requeue,
                     {"label 2 of sample 2", "0 to 1"});
}

}  // namespace
}  // namespace quern

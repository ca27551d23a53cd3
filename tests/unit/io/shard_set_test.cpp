// SPDX-License-Identifier: Apache-2.0
// Shards: what the writer makes, the reader takes; and what nobody should take.
#include "io/shard_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sha256.hpp"
#include "io/h5_file.hpp"
#include "io/shard_format.hpp"
#include "io/shard_writer.hpp"
#include "support/expect_error.hpp"
#include "support/idx_files.hpp"
#include "support/sync_calls.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using test::Bytes;
using test::counting;
using test::expect_error;

class ShardSetTest : public testing::Test {
 protected:
  static constexpr std::size_t kSamples = 11;

  void write(int num_shards, const std::string& split = "train",
             Overwrite overwrite = Overwrite::no, const std::string& name = "toy") {
    write_shards(folder_.path(), {name, split, {1, 3, 2}, 10, num_shards}, images_, labels_,
                 overwrite);
  }

  std::filesystem::path shard(int index, int count, const std::string& split = "train") const {
    return folder_ / to_string(ShardFileName{"toy", split, index, count});
  }

  void expect_refused(std::initializer_list<std::string> parts,
                      const std::string& split = "train") {
    expect_error([&] { ShardSet::open(folder_.path(), split); }, ExitCode::bad_input, parts);
  }

  // Room for a set of eleven samples.
  struct Read {
    Bytes images = Bytes(66, 255);
    std::vector<std::int32_t> labels = std::vector<std::int32_t>(kSamples, -1);
    SampleArrays arrays() { return {.images = images, .labels = labels}; }
    Bytes byte_labels() const { return {labels.begin(), labels.end()}; }
  };

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  Bytes images_ = counting(kSamples * 6);
  Bytes labels_ = counting(kSamples, 10);
  test::TempDir folder_;
};

TEST(ShardFileName, OnlyWholeNamesCount) {
  const auto says = parse_shard_file_name("a-test-b-train-00003-of-00008.h5");
  ASSERT_TRUE(says.has_value());
  EXPECT_EQ(says->name, "a-test-b");
  EXPECT_EQ(says->split, "train");
  EXPECT_EQ(says->index, 3);
  EXPECT_EQ(says->count, 8);
  EXPECT_EQ(to_string(*says), "a-test-b-train-00003-of-00008.h5");
  for (const char* other :
       {"", ".h5", "a.h5", "-train-00000-of-00001.h5", "a-train-0000-of-00001.h5",
        "a-dev-00000-of-00001.h5", "a-train-00000-of-00001.h5.tmp.7", "00000-of-00001.h5",
        "a-train-0000x-of-00001.h5", "a-train--0001-of-00001.h5"}) {
    EXPECT_FALSE(parse_shard_file_name(other).has_value()) << other;
  }
}

// Refused, or out of room: what was made for the shards goes, what was there stays.
TEST_F(ShardSetTest, LeavesNoFolderWithoutShards) {
  ShardContent content;
  content.shape = {1, 3, 2};
  {
    ShardSetWriter writer(folder_ / "a" / "b", {"toy", "train", 1}, content, 11);
    writer.open_folder(Overwrite::no);
    EXPECT_TRUE(std::filesystem::is_directory(folder_ / "a" / "b"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
  EXPECT_TRUE(std::filesystem::is_directory(folder_.path()));
}

TEST_F(ShardSetTest, AFileIsThatOfTheSetOrRefused) {
  write(3);
  const ShardSet set = ShardSet::open(folder_.path(), "train");
  for (std::size_t index = 0; index < 3; ++index) set.check_file(index);
  images_[0] ^= 1;
  write(3, "train", Overwrite::yes);
  expect_error([&] { set.check_file(0); }, ExitCode::bad_input,
               {shard(0, 3).string(), "expected 3 samples from 0 on"});
  images_[0] ^= 1;
  labels_[0] ^= 1;  // the same images, told by the other digest
  write(3, "train", Overwrite::yes);
  expect_error([&] { set.check_file(0); }, ExitCode::bad_input,
               {"and of their answers ", ", expected 3 samples"});
  set.check_file(1);
  std::filesystem::copy_file(shard(0, 3), shard(1, 3),
                             std::filesystem::copy_options::overwrite_existing);
  expect_error([&] { set.check_file(1); }, ExitCode::bad_input, {"its name disagrees"});
  std::filesystem::remove(shard(2, 3));
  expect_error([&] { set.check_file(2); }, ExitCode::bad_input, {"no file", shard(2, 3).string()});
}

TEST_F(ShardSetTest, RoundTripForAnyNumberOfShards) {
  for (const int num_shards : {1, 2, 3, 11}) {
    write(num_shards, "train", Overwrite::yes);
    const ShardSet set = ShardSet::open(folder_.path(), "train");
    EXPECT_EQ(set.name(), "toy");
    EXPECT_EQ(set.split(), "train");
    EXPECT_EQ(set.count(), 11);
    EXPECT_EQ(set.shape(), (Shape{1, 3, 2}));
    EXPECT_EQ(set.classes(), 10);
    EXPECT_EQ(set.stored_bytes(), 77);
    ASSERT_EQ(set.shards().size(), static_cast<std::size_t>(num_shards));
    Read read;
    set.read_share(0, 1, 1, read.arrays());
    EXPECT_EQ(read.images, images_);
    EXPECT_EQ(read.byte_labels(), labels_);
    for (const Shard& part : set.shards()) {
      EXPECT_GE(part.count, 11 / num_shards);
      EXPECT_LE(part.count, 11 / num_shards + 1);
    }
  }
  EXPECT_EQ(files().size(), 11u);
}

TEST_F(ShardSetTest, WorkersFillOneCopyTogether) {
  write(4);
  const ShardSet set = ShardSet::open(folder_.path(), "");
  for (const int num_workers : {1, 2, 3, 7}) {
    for (const int num_threads : {1, 2, 9}) {
      Read read;
      for (int worker = 0; worker < num_workers; ++worker) {
        set.read_share(worker, num_workers, num_threads, read.arrays());
      }
      EXPECT_EQ(read.images, images_);
      EXPECT_EQ(read.byte_labels(), labels_);
    }
  }
}

// What is missing shows which shard was to be read first.
TEST_F(ShardSetTest, WorkersBeginWhereTheyAreTold) {
  write(6);
  const ShardSet set = ShardSet::open(folder_.path(), "");
  for (std::size_t begin = 0; begin <= 6; ++begin) {
    Read read;
    for (int worker = 0; worker < 2; ++worker) set.read_share(worker, 2, 2, read.arrays(), begin);
    EXPECT_EQ(read.images, images_) << begin;
    EXPECT_EQ(read.byte_labels(), labels_) << begin;
  }
  for (int i = 0; i < 6; ++i) std::filesystem::remove(shard(i, 6));
  Read read;
  const auto expect_first = [&](int worker, std::size_t begin, const std::string& name) {
    expect_error([&] { set.read_share(worker, 2, 1, read.arrays(), begin); }, ExitCode::bad_input,
                 {name});
  };
  expect_first(0, 0, "00000-of-00006.h5");
  expect_first(0, 1, "00002-of-00006.h5");
  expect_first(1, 3, "00003-of-00006.h5");
  expect_first(1, 6, "00001-of-00006.h5");
}

TEST_F(ShardSetTest, ATableTellsAllWithoutOpeningAnything) {
  write(3);
  for (int i = 0; i < 3; ++i) {  // Quern's own writer takes no such names
    const ShardFileName odd{"a name\nof 2 lines", "train", i, 3};
    std::filesystem::rename(shard(i, 3), folder_ / to_string(odd));
  }
  const ShardSet set = ShardSet::open(folder_.path(), "train");
  const std::string table = set.table();
  const std::filesystem::path other = folder_ / "not there";
  const ShardSet copy(other, table);
  EXPECT_EQ(copy.table(), table);
  EXPECT_EQ(copy.name(), set.name());
  EXPECT_EQ(copy.split(), "train");
  EXPECT_EQ(copy.count(), 11);
  EXPECT_EQ(copy.shape(), set.shape());
  EXPECT_EQ(copy.classes(), 10);
  EXPECT_EQ(copy.content_hash(), set.content_hash());
  ASSERT_EQ(copy.shards().size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(copy.shards()[i].path, other / set.shards()[i].path.filename());
    EXPECT_EQ(copy.shards()[i].first_index, set.shards()[i].first_index);
    EXPECT_EQ(copy.shards()[i].count, set.shards()[i].count);
  }
  EXPECT_THROW(ShardSet(other, table.substr(0, table.size() - 70)), Error);
  EXPECT_THROW(ShardSet(other, ""), Error);
}

// Between opening a set and reading it, the files may be replaced.
TEST_F(ShardSetTest, DataThatChangedIsRefused) {
  write(4);
  const ShardSet set = ShardSet::open(folder_.path(), "train");
  images_[3] ^= 1;
  write(4, "train", Overwrite::yes);
  Read read;
  for (const int num_threads : {1, 4}) {
    expect_error([&] { set.read_share(0, 1, num_threads, read.arrays()); },
                 ExitCode::do_not_requeue, {"00000-of-00004.h5", "/images", "damaged"});
    set.read_share(1, 2, num_threads, read.arrays());  // the others are as they were
  }
  images_.push_back(0);
  images_.resize(images_.size() + 5);
  labels_.push_back(0);
  write(4, "train", Overwrite::yes);
  expect_error([&] { set.read_share(0, 1, 1, read.arrays()); }, ExitCode::bad_input,
               {"'/images' has 18 elements", "expected 12"});
}

TEST_F(ShardSetTest, FilesAreAsTheFormatSays) {
  write(2);
  EXPECT_THAT(files(), testing::UnorderedElementsAre("toy-train-00000-of-00002.h5",
                                                     "toy-train-00001-of-00002.h5"));
  const H5File file = H5File::open_read(shard(1, 2));
  EXPECT_THAT(file.dataset_info("/images").shape, testing::ElementsAre(6, 1, 3, 2));
  EXPECT_EQ(file.read_string("/", "format"), "quern-shard");
  EXPECT_EQ(file.read_int64("/", "format_version"), 1);
  EXPECT_EQ(file.read_string("/", "split"), "train");
  EXPECT_EQ(file.read_int64("/", "shard_index"), 1);
  EXPECT_EQ(file.read_int64("/", "shard_count"), 2);
  EXPECT_EQ(file.read_int64("/", "first_index"), 5);
  EXPECT_EQ(file.read_int64("/", "total"), 11);
  EXPECT_EQ(file.read_int64("/", "classes"), 10);
  EXPECT_EQ(file.read_string("/", "sha256_images"),
            sha256(std::as_bytes(std::span(images_).subspan(30))));
  EXPECT_EQ(file.read_string("/", "sha256_labels"),
            sha256(std::as_bytes(std::span(labels_).subspan(5))));
}

TEST_F(ShardSetTest, ContentHashNamesTheData) {
  write(2);
  const std::string hash = ShardSet::open(folder_.path(), "train").content_hash();
  write(2, "test");
  EXPECT_EQ(ShardSet::open(folder_.path(), "test").content_hash(), hash);
  images_[60] ^= 1;
  write(2, "train", Overwrite::yes);
  EXPECT_NE(ShardSet::open(folder_.path(), "train").content_hash(), hash);
}

TEST_F(ShardSetTest, OverwritingNeedsForceAndReplacesTheWholeSet) {
  write(3);
  expect_error([&] { write(2); }, ExitCode::bad_input, {"00000-of-00003.h5", "--force"});
  EXPECT_EQ(files().size(), 3u);
  write(2, "train", Overwrite::yes);
  EXPECT_THAT(files(), testing::UnorderedElementsAre("toy-train-00000-of-00002.h5",
                                                     "toy-train-00001-of-00002.h5"));
  expect_error([&] { write(2, "train", Overwrite::yes, "other"); }, ExitCode::bad_input,
               {"another data set, 'toy'"});
}

TEST_F(ShardSetTest, FailedWritersLeaveNothing) {
  // A folder stands where the second shard should go.
  std::filesystem::create_directories(shard(1, 2) / "occupied");
  EXPECT_THROW(write(2, "train", Overwrite::yes), Error);
  for (const std::string& name : files()) EXPECT_EQ(name, "toy-train-00001-of-00002.h5");
  std::filesystem::remove_all(shard(1, 2));

  expect_error([&] { write(12); }, ExitCode::bad_input, {"11 samples cannot fill 12 shards"});
  expect_error([&] { write(0); }, ExitCode::bad_input, {"0 shards"});
  expect_error([&] { write(1, "dev"); }, ExitCode::bad_input, {"split 'dev'"});
  expect_error([&] { write(1, "train", Overwrite::no, "a/b"); }, ExitCode::bad_input, {"'a/b'"});
  labels_[4] = 10;
  expect_error([&] { write(1); }, ExitCode::bad_input, {"label 10 of sample 4", "0 to 9"});
  labels_.pop_back();
  expect_error([&] { write(1); }, ExitCode::bad_input, {"11 images but 10 labels"});
  EXPECT_TRUE(files().empty());
}

// The second one has its name already when the folder cannot be synced.
TEST_F(ShardSetTest, WritersThatCannotSyncANameLeaveNothing) {
  test::SyncCalls syncs;
  int names = 0;
  syncs.before = [&](const auto& path) { return path == folder_.path() && ++names == 2 ? EIO : 0; };
  expect_error([&] { write(3); }, ExitCode::failure, {"cannot sync", "Input/output error"});
  EXPECT_EQ(names, 2);
  EXPECT_TRUE(files().empty());
}

TEST_F(ShardSetTest, NamesOfClassesAreLinesOfUtf8) {
  ShardContent content;
  content.shape = {1, 3, 2};
  content.classes = 10;
  const std::vector<std::int32_t> labels(kSamples, 1);
  const auto write_with = [&](const std::string& name) {
    content.class_names.assign(10, "dog");
    content.class_names[3] = name;
    write_shards(folder_.path(), {"toy", "train", 1}, content,
                 {.images = images_, .labels = labels}, Overwrite::yes);
  };
  const std::string expected = "' is no name for a class, expected one line of UTF-8";
  expect_error([&] { write_with("caf\xe9"); }, ExitCode::bad_input, {"'caf\\xe9" + expected});
  expect_error([&] { write_with("two\nlines"); }, ExitCode::bad_input,
               {"'two\\x0alines" + expected});
  expect_error([&] { write_with(""); }, ExitCode::bad_input, {"'" + expected});
  EXPECT_TRUE(files().empty());
  write_with("café");
  EXPECT_EQ(ShardSet::open(folder_.path(), "train").content().class_names, content.class_names);
}

TEST_F(ShardSetTest, FoldersWithoutShards) {
  expect_refused({"no shards in", "quern shard"});
  expect_error([&] { ShardSet::open(folder_ / "none", "train"); }, ExitCode::bad_input,
               {"no folder", "none"});
  test::write_file(folder_ / "file", {1});
  expect_error([&] { ShardSet::open(folder_ / "file", "train"); }, ExitCode::bad_input,
               {"cannot read folder"});
}

TEST_F(ShardSetTest, TheSplitAskedForIsTaken) {
  write(1, "test");
  expect_refused({"no shards of split 'train'", "'test' (quern shard --split train makes them)"});
  EXPECT_EQ(ShardSet::open(folder_.path(), "").split(), "test");
  write(2, "train");
  EXPECT_EQ(ShardSet::open(folder_.path(), "train").shards().size(), 2u);
  EXPECT_EQ(ShardSet::open(folder_.path(), "test").shards().size(), 1u);
  expect_refused({"splits 'test', 'train'", "--split train or --split test"}, "");
  expect_refused({"unknown split 'dev'"}, "dev");
}

TEST_F(ShardSetTest, MissingShards) {
  write(3);
  std::filesystem::remove(shard(1, 3));
  expect_refused({"00001-of-00003.h5' is missing"});
  std::filesystem::remove(shard(0, 3));
  expect_refused({"00000-of-00003.h5' is missing"});
}

TEST_F(ShardSetTest, DuplicateAndForeignShards) {
  write(2);
  std::filesystem::copy_file(shard(0, 2), shard(2, 2));
  expect_refused({"a shard too many"});
  std::filesystem::rename(shard(2, 2), shard(0, 1));
  expect_refused({"mixes", "of 1 and of 2"});
  std::filesystem::remove(shard(0, 1));
  std::filesystem::copy_file(shard(0, 2), shard(1, 2),
                             std::filesystem::copy_options::overwrite_existing);
  expect_refused({"00001-of-00002.h5", "shard 0 of 2", "its name disagrees"});
  std::filesystem::copy_file(shard(0, 2), folder_ / "other-train-00000-of-00002.h5");
  expect_refused({"several data sets: 'other', 'toy'"});
}

TEST_F(ShardSetTest, ShardsThatContradictEachOther) {
  write(2);
  const test::TempDir elsewhere;
  const auto replace_second = [&](const ShardSetSpec& spec, std::size_t samples) {
    const auto units = static_cast<std::size_t>(spec.shape.units());
    write_shards(elsewhere.path(), spec, counting(samples * units), counting(samples, 5),
                 Overwrite::yes);
    std::filesystem::copy_file(elsewhere / shard(1, 2).filename().string(), shard(1, 2),
                               std::filesystem::copy_options::overwrite_existing);
  };
  replace_second({"toy", "train", {1, 3, 2}, 10, 2}, 12);
  expect_refused({"00001-of", "total is 12", "11"});
  replace_second({"toy", "train", {1, 3, 2}, 9, 2}, 11);
  expect_refused({"00001-of", "classes is 9", "10"});
  replace_second({"toy", "train", {1, 2, 3}, 10, 2}, 11);
  expect_refused({"00001-of", "[1, 2, 3]", "[1, 3, 2]"});
}

TEST_F(ShardSetTest, FlippedBytesAreFound) {
  images_ = counting(kSamples * 6, 64);  // so that the pixels can be found in the file
  write(1);
  Bytes file = test::read_file(shard(0, 1));
  const auto pixels = std::search(file.begin(), file.end(), images_.begin(), images_.end());
  ASSERT_NE(pixels, file.end());
  pixels[33] ^= 0x40;
  test::write_file(shard(0, 1), file);

  const ShardSet set = ShardSet::open(folder_.path(), "train");
  Read read;
  expect_error([&] { set.read_share(0, 1, 1, read.arrays()); }, ExitCode::do_not_requeue,
               {"00000-of-00001.h5", "/images", "damaged"});
}

TEST_F(ShardSetTest, TruncatedShards) {
  write(1);
  std::filesystem::resize_file(shard(0, 1), std::filesystem::file_size(shard(0, 1)) / 2);
  expect_refused({"00000-of-00001.h5", "truncated"});
  test::write_file(shard(0, 1), {});
  expect_refused({"00000-of-00001.h5", "not a whole HDF5 file"});
}

}  // namespace
}  // namespace quern

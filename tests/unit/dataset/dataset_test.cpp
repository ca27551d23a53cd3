// SPDX-License-Identifier: Apache-2.0
#include "dataset/dataset.hpp"

#include <gtest/gtest.h>

#include "io/shard_writer.hpp"
#include "support/expect_error.hpp"
#include "support/idx_files.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

using test::Bytes;
using test::counting;

class DatasetTest : public testing::Test {
 protected:
  DatasetTest() { write(); }

  void write() {
    write_shards(folder_.path(), {"toy", "train", {2, 3, 1}, 10, 4}, images_, labels_,
                 Overwrite::yes);
  }

  Bytes images_ = counting(10 * 6);
  Bytes labels_ = counting(10, 10);
  test::TempDir folder_;
};

TEST_F(DatasetTest, InspectAndRead) {
  const DatasetInfo info = inspect_shards(folder_.path(), "train");
  EXPECT_EQ(info.folder, folder_.path());
  EXPECT_EQ(info.name, "toy");
  EXPECT_EQ(info.split, "train");
  EXPECT_EQ(info.count, 10);
  EXPECT_EQ(info.shape, (Shape{2, 3, 1}));
  EXPECT_EQ(info.classes, 10);
  EXPECT_EQ(info.num_shards, 4);
  EXPECT_EQ(info.image_bytes, 60);
  EXPECT_EQ(info.label_bytes, 10);
  EXPECT_EQ(info.content_hash.size(), 64u);
  Bytes images(60);
  Bytes labels(10);
  read_shards(info, images, labels);
  EXPECT_EQ(images, images_);
  EXPECT_EQ(labels, labels_);
}

TEST_F(DatasetTest, WorkersFillOneCopyTogether) {
  const DatasetInfo info = inspect_shards(folder_.path(), "");
  for (const int num_workers : {2, 3, 7}) {
    Bytes images(60, 255);
    Bytes labels(10, 255);
    for (int worker = 0; worker < num_workers; ++worker) {
      read_share_of_shards(info, worker, num_workers, images, labels);
    }
    EXPECT_EQ(images, images_);
    EXPECT_EQ(labels, labels_);
  }
}

TEST_F(DatasetTest, DataThatChangedIsRefused) {
  const DatasetInfo info = inspect_shards(folder_.path(), "train");
  images_[3] ^= 1;
  write();
  Bytes images(60);
  Bytes labels(10);
  test::expect_error([&] { read_shards(info, images, labels); }, ExitCode::do_not_requeue,
                     {"have changed"});
}

}  // namespace
}  // namespace quern

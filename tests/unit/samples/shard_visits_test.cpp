// SPDX-License-Identifier: Apache-2.0
// Who streams many small files is told before it takes all night.
#include "samples/shard_visits.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "io/shard_writer.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

// 1000 samples of 10 KB.
class ShardVisits : public testing::Test {
 protected:
  ShardSet write(int num_shards) {
    constexpr std::size_t kCount = 1000;
    ShardContent content;
    content.shape = {1, 100, 100};
    content.classes = 1;
    const std::vector<std::uint8_t> images(kCount * 10000);
    const std::vector<std::int32_t> labels(kCount);
    write_shards(folder_.path(), {"toy", "train", num_shards}, content,
                 ConstSampleArrays{images, {}, labels, {}}, Overwrite::yes);
    return ShardSet::open(folder_.path(), "train");
  }

  static std::string text(const ShardSet& set, bool shuffle, std::int64_t window,
                          std::size_t most_open) {
    const WindowPlan plan = make_window_plan(set.count(), 20, 5, window, 100, shuffle);
    const WindowBuffers buffers{.tracks = plan.tracks(),
                                .capacity = plan.window_steps() * plan.block_samples};
    return short_visits_text(plan, buffers, set, most_open);
  }

  test::TempDir folder_;
};

TEST_F(ShardVisits, AreShortWhereFilesAreSmall) {
  const ShardSet set = write(200);
  const std::string warning = text(set, true, 300, 50);
  EXPECT_NE(warning.find("the train set 'toy' has 200 shards, of which a rank keeps 50 open at "
                         "most, and a window takes about"),
            std::string::npos)
      << warning;
  EXPECT_NE(text(set, false, 300, 50), "");
  EXPECT_EQ(text(set, true, 300, 200), "") << "all stay open";
}

TEST_F(ShardVisits, AreLongInLargeFiles) {
  const ShardSet set = write(5);
  EXPECT_EQ(text(set, true, 500, 2), "");
  EXPECT_EQ(text(set, false, 300, 2), "");
  EXPECT_NE(text(set, true, 20, 2), "") << "of small windows";
}

TEST_F(ShardVisits, DoNotConcernARankWithoutSamples) {
  const ShardSet set = write(200);
  const WindowPlan plan = make_window_plan(set.count(), 20, 5, 300, 100, true);
  EXPECT_EQ(short_visits_text(plan, WindowBuffers{}, set, 50), "");
}

}  // namespace
}  // namespace quern

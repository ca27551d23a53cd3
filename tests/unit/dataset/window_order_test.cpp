// SPDX-License-Identifier: Apache-2.0
#include "dataset/window_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

namespace quern {
namespace {

constexpr std::uint64_t kSeed = 7;

std::vector<std::int64_t> epoch_order(const WindowPlan& plan, std::uint64_t seed,
                                      std::uint32_t epoch) {
  const WindowOrder order(plan, seed, epoch);
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < plan.count; ++i) samples.push_back(order(i));
  return samples;
}

// Short last batches, short last micro-blocks, short last chunks, windows of one batch.
std::vector<WindowPlan> plans() {
  std::vector<WindowPlan> all;
  for (const bool shuffle : {true, false}) {
    for (const std::int64_t count : {9, 96, 600, 4001}) {
      for (const std::int64_t batch : {1, 4, 7, 48, 49}) {
        if (batch >= count) continue;
        for (const std::int64_t block : {1, 4, 16})
          for (const std::int64_t window : {1, 60, 300, 3999})
            all.push_back(make_window_plan(count, batch, block, window, 1 << 20, shuffle));
      }
    }
  }
  return all;
}

TEST(WindowOrder, TakesEverySampleOnce) {
  for (const WindowPlan& plan : plans()) {
    for (const std::uint32_t epoch : {0u, 3u}) {
      std::vector<std::int64_t> samples = epoch_order(plan, kSeed, epoch);
      if (!plan.shuffle) {
        EXPECT_TRUE(std::is_sorted(samples.begin(), samples.end()));
      }
      std::sort(samples.begin(), samples.end());
      for (std::int64_t i = 0; i < plan.count; ++i)
        ASSERT_EQ(samples[static_cast<std::size_t>(i)], i) << plan.count << " " << plan.batch;
    }
  }
}

// Neighbours as in a batch, with gaps as between its micro-blocks, and empty rows.
TEST(WindowOrder, SideBySideIsTheSame) {
  constexpr int kWidth = Permutation::kWidth;
  for (const WindowPlan& plan : plans()) {
    if (!plan.is_active()) continue;
    const WindowOrder order(plan, kSeed, 1);
    for (const std::int64_t gap : {1, 5, 16, 31}) {
      for (std::int64_t first = 0; first < plan.count; first += 1 + plan.count / 11) {
        std::int64_t positions[kWidth];
        for (int i = 0; i < kWidth; ++i)
          positions[i] = i % 11 == 10 ? 0 : (first + i + i / gap * 7) % plan.count;
        WindowPlace places[kWidth];
        std::int64_t samples[kWidth];
        order.map(positions, places, samples);
        for (int i = 0; i < kWidth; ++i) {
          const WindowPlace place = order.place(positions[i]);
          ASSERT_EQ(places[i].track, place.track) << plan.count << " " << positions[i];
          ASSERT_EQ(places[i].window, place.window) << plan.count << " " << positions[i];
          ASSERT_EQ(places[i].index, place.index) << plan.count << " " << positions[i];
          ASSERT_EQ(samples[i], order(positions[i])) << plan.count << " " << positions[i];
        }
      }
    }
  }
}

TEST(WindowOrder, WindowsHoldNoMoreThanIsAskedFor) {
  for (const WindowPlan& plan : plans()) {
    const std::int64_t step = plan.tracks() * plan.block_samples;
    for (const std::int64_t window : {step, 3 * step, std::int64_t{300}}) {
      const WindowPlan cut = make_window_plan(plan.count, plan.batch, plan.block_samples, window,
                                              1 << 20, plan.shuffle);
      if (window < step || !cut.is_active()) continue;
      EXPECT_LE(cut.window_samples(), window);
      // What people are told is what they can ask for.
      const WindowPlan again = make_window_plan(plan.count, plan.batch, plan.block_samples,
                                                cut.window_samples(), 1 << 20, plan.shuffle);
      EXPECT_EQ(again.windows, cut.windows);
      EXPECT_EQ(again.chunk, cut.chunk);
    }
  }
}

TEST(WindowOrder, OneWindowIsNone) {
  EXPECT_FALSE(make_window_plan(100, 10, 5, 100, 1000, true).is_active());
  EXPECT_TRUE(make_window_plan(100, 10, 5, 99, 1000, true).is_active());
}

// Whoever computes some micro-blocks finds their samples in their tracks, window after window, and
// there they lie in runs.
TEST(WindowOrder, TracksAndRunsHoldWhatBatchesTake) {
  for (const WindowPlan& plan : plans()) {
    if (!plan.is_active()) continue;
    const WindowOrder order(plan, kSeed, 2);
    std::vector<std::int64_t> loaded;
    std::set<std::vector<std::int64_t>> places;
    for (std::int64_t window = 0; window < plan.windows; ++window) {
      for (std::int64_t track = 0; track < plan.tracks(); ++track) {
        WindowPlace place{track, window, 0};
        ASSERT_LE(order.size(track, window), plan.window_steps() * plan.block_samples);
        while (place.index < order.size(track, window)) {
          const std::int64_t run = order.run(place);
          ASSERT_GE(run, 1);
          for (std::int64_t i = 0; i < run; ++i) loaded.push_back(order.sample(place) + i);
          place.index += run;
        }
        ASSERT_EQ(place.index, order.size(track, window));
      }
    }
    std::int64_t last_window = 0;
    for (std::int64_t position = 0; position < plan.count; ++position) {
      const WindowPlace place = order.place(position);
      EXPECT_EQ(place.track, position % plan.batch / plan.block_samples);
      EXPECT_GE(place.window, last_window);
      EXPECT_LT(place.index, order.size(place.track, place.window));
      last_window = place.window;
      places.insert({place.track, place.window, place.index});
    }
    EXPECT_EQ(static_cast<std::int64_t>(places.size()), plan.count);
    std::sort(loaded.begin(), loaded.end());
    for (std::int64_t i = 0; i < plan.count; ++i) ASSERT_EQ(loaded[static_cast<std::size_t>(i)], i);
  }
}

TEST(WindowOrder, DiffersByEpochAndSeed) {
  const WindowPlan plan = make_window_plan(60000, 128, 16, 6000, 1000, true);
  const auto common = [&](const auto& a, const auto& b) {
    int equal = 0;
    for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
    return equal;
  };
  const auto first = epoch_order(plan, 0, 0);
  EXPECT_EQ(first, epoch_order(plan, 0, 0));
  EXPECT_LT(common(first, epoch_order(plan, 0, 1)), 15);
  EXPECT_LT(common(first, epoch_order(plan, 1, 0)), 15);
}

// Data sets often come sorted by class. In batches of the windows' order each tenth of the set has
// to be there about as often as by chance.
TEST(WindowOrder, MixesASortedSet) {
  const WindowPlan plan = make_window_plan(60000, 128, 16, 12000, 700, true);
  const auto samples = epoch_order(plan, kSeed, 0);
  double spread = 0;
  int batches = 0;
  for (std::size_t begin = 0; begin + 128 <= samples.size(); begin += 128, ++batches) {
    int count[10] = {};
    for (std::size_t i = begin; i < begin + 128; ++i) ++count[samples[i] / 6000];
    for (const int n : count) spread += (n - 12.8) * (n - 12.8) / 12.8;
  }
  // Chi-squared with 9 degrees of freedom: 9 on average where samples are independent. A window has
  // 128 chunks of the 640, as many as a batch has samples, which adds 0.8 times as much.
  EXPECT_LT(spread / batches, 19);
  EXPECT_GT(spread / batches, 5);
}

// Ranks own consecutive tracks; together they have room for two windows and the last batch's rest.
TEST(WindowBuffers, KeepTwoWindowsApart) {
  for (const WindowPlan& plan : plans()) {
    if (!plan.is_active()) continue;
    const WindowBuffers all{0, plan.tracks(), plan.window_steps() * plan.block_samples, 0,
                            plan.count % plan.batch};
    std::vector<std::int64_t> owner(static_cast<std::size_t>(all.samples()), -1);
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
      const WindowOrder order(plan, kSeed, static_cast<std::uint32_t>(epoch));
      for (std::int64_t position = 0; position < plan.count; ++position) {
        const WindowPlace place = order.place(position);
        const std::int64_t at = all.at(plan, epoch, position, place);
        ASSERT_GE(at, 0);
        ASSERT_LT(at, all.samples());
        // Whose place it was is at least two windows ago.
        const std::int64_t window = epoch * plan.windows + place.window;
        std::int64_t& last = owner[static_cast<std::size_t>(at)];
        ASSERT_TRUE(last < 0 || last <= window - 2) << last << " " << window;
        last = window;
      }
    }
  }
}

}  // namespace
}  // namespace quern

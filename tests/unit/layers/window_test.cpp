// SPDX-License-Identifier: Apache-2.0
#include "layers/window.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/views.hpp"

namespace quern {
namespace {

constexpr std::uint64_t kSeed = 20;

TEST(Window, AllOffsetsOccurAboutEquallyAndHalfAreFlipped) {
  const AugmentSpec augment{2, true};
  constexpr int kCount = 50'000;
  std::map<std::pair<int, int>, int> offsets;
  int flipped = 0;
  for (int sample = 0; sample < kCount; ++sample) {
    const Window window = draw_window(augment, kSeed, 4, sample);
    ++offsets[{window.top, window.left}];
    flipped += window.flipped ? 1 : 0;
  }
  ASSERT_EQ(offsets.size(), 25u);
  for (const auto& [offset, count] : offsets) {
    EXPECT_LE(std::abs(offset.first), 2);
    EXPECT_LE(std::abs(offset.second), 2);
    EXPECT_NEAR(count, kCount / 25, 5 * 44) << "five standard deviations";
  }
  EXPECT_NEAR(flipped, kCount / 2, 5 * 112);
}

TEST(Window, IsWhatTheDocumentsSay) {
  // docs/numerics.md
  constexpr int kTop[] = {-1, 4, 3, 1, 0, -3};
  constexpr int kLeft[] = {-4, -3, 0, 4, 4, -2};
  constexpr bool kFlipped[] = {true, true, false, true, true, false};
  for (int sample = 0; sample < 6; ++sample) {
    const Window window = draw_window({4, true}, 9, 2, sample);
    EXPECT_EQ(window.top, kTop[sample]);
    EXPECT_EQ(window.left, kLeft[sample]);
    EXPECT_EQ(window.flipped, kFlipped[sample]);
  }
}

TEST(Window, EachPartIsOffByDefault) {
  int flipped = 0;
  for (int sample = 0; sample < 100; ++sample) {
    EXPECT_FALSE(draw_window({3, false}, kSeed, 0, sample).flipped);
    const Window window = draw_window({0, true}, kSeed, 0, sample);
    EXPECT_EQ(window.top, 0);
    EXPECT_EQ(window.left, 0);
    flipped += window.flipped ? 1 : 0;
  }
  EXPECT_GT(flipped, 20);
  EXPECT_FALSE(AugmentSpec{}.is_active());
}

TEST(Window, SeedEpochAndSampleEachCount) {
  const auto same = [](std::uint64_t seed, std::int64_t epoch, std::int64_t first) {
    int count = 0;
    for (int i = 0; i < 1000; ++i) {
      const Window a = draw_window({4, true}, kSeed, 2, i);
      const Window b = draw_window({4, true}, seed, epoch, first + i);
      count += a.top == b.top && a.left == b.left && a.flipped == b.flipped ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(same(kSeed, 2, 0), 1000);
  for (const int count : {same(kSeed + 1, 2, 0), same(kSeed, 3, 0), same(kSeed, 2, 1)})
    EXPECT_LT(count, 30) << "one of 162 by chance";
}

TEST(Window, KernelDrawsForTheSamplesOfItsRows) {
  const AugmentSpec augment{4, true};
  const StepScalarsView scalars("test::scalars");
  StepScalars values;
  values.seed = kSeed;
  values.epoch = 6;
  Kokkos::deep_copy(scalars, values);
  const std::vector<std::int64_t> samples = {7, 0, -1, std::int64_t{1} << 40, 7};
  const View<Window> windows("test::windows", 6);
  const ExecSpace exec;
  draw_windows(exec, augment, scalars, test::to_view(samples), 5, windows);
  exec.fence("test: read windows");
  const std::vector<Window> drawn = test::to_vector(windows);
  for (std::size_t row = 0; row < samples.size(); ++row) {
    if (samples[row] < 0) continue;
    const Window expected = draw_window(augment, kSeed, 6, samples[row]);
    EXPECT_EQ(drawn[row].top, expected.top);
    EXPECT_EQ(drawn[row].left, expected.left);
    EXPECT_EQ(drawn[row].flipped, expected.flipped);
  }
}

}  // namespace
}  // namespace quern

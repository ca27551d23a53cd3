// SPDX-License-Identifier: Apache-2.0
#include "optim/clip.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "optim/reference/clip.hpp"
#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

float scale_of(double max_norm, const std::vector<float>& gradient, std::int64_t block_size) {
  const StepScalarsView scalars("test::scalars");
  StepScalars values;
  Kokkos::deep_copy(scalars, values);
  const GradientClip clip(max_norm, block_size);
  const ExecSpace exec;
  clip.set_scale(exec, scalars, test::to_view(gradient));
  exec.fence("test: read scale");
  Kokkos::deep_copy(values, scalars);
  return values.gradient_scale;
}

TEST(Clip, ScalesDownToTheNormAsPyTorch) {
  std::vector<float> gradient(16);
  gradient[0] = 3;
  gradient[9] = -4;
  EXPECT_FLOAT_EQ(scale_of(2, gradient, 16), static_cast<float>(2 / (5 + 1e-6)));
  EXPECT_EQ(scale_of(6, gradient, 16), 1.0f);
  EXPECT_EQ(scale_of(6, std::vector<float>(16), 16), 1.0f);
}

TEST(Clip, NoClippingLeavesTheScaleAlone) {
  EXPECT_EQ(scale_of(0, std::vector<float>(16, 1e6f), 16), 1.0f);
}

TEST(Clip, HasTheBitsOfTheReferenceAndIgnoresWhatFollows) {
  for (const std::size_t count : {16u, 4096u, 4112u, 200000u}) {
    std::vector<float> gradient = test::random_values(count, 1);
    const float expected = reference::gradient_scale(0.5, gradient);
    double plain = 0;
    for (const float value : gradient) plain += double{value} * double{value};
    gradient.push_back(1e9f);
    const float scale = scale_of(0.5, gradient, static_cast<std::int64_t>(count));
    EXPECT_EQ(scale, expected) << count;
    EXPECT_NEAR(scale, 0.5 / (std::sqrt(plain) + 1e-6), 1e-7);
  }
}

// Every rank sums up the chunks of its ranges; what they gather has the bits of the whole.
TEST(Clip, HasTheSameBitsWhereTheGradientIsSpread) {
  constexpr std::int64_t kChunk = GradientClip::kChunk;
  const std::int64_t size = 5 * kChunk + 48;
  const std::vector<float> gradient = test::random_values(static_cast<std::size_t>(size), 1);
  const float expected = scale_of(0.5, gradient, size);
  // Several ranges, one that ends behind the block, none.
  const std::vector<std::vector<BlockRange>> ranges = {
      {{0, kChunk}, {3 * kChunk, 4 * kChunk}},
      {{kChunk, 3 * kChunk}, {4 * kChunk, 7 * kChunk}},
      {}};
  std::vector<std::vector<float>> parts;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    std::vector<float> own(gradient.size(), std::numeric_limits<float>::quiet_NaN());
    for (const BlockRange& range : ranges[rank])
      for (std::int64_t i = range.begin; i < std::min(range.end, size); ++i)
        own[static_cast<std::size_t>(i)] = gradient[static_cast<std::size_t>(i)];
    GradientClip clip(0.5, size);
    clip.spread(ranges, static_cast<int>(rank));
    const StepScalarsView scalars("test::scalars");
    Kokkos::deep_copy(scalars, StepScalars());
    const ExecSpace exec;
    clip.set_scale(exec, scalars, test::to_view(own), [&](const FloatView& all) {
      exec.fence("test: read sums");
      std::vector<float> floats = test::to_vector(all);
      const std::size_t part = floats.size() / 3;
      const auto at = [&](std::size_t r) { return floats.begin() + static_cast<long>(r * part); };
      parts.emplace_back(at(rank), at(rank) + static_cast<long>(part));
      for (std::size_t r = 0; r < parts.size(); ++r)
        std::copy(parts[r].begin(), parts[r].end(), at(r));
      test::overwrite(all, floats);
    });
    exec.fence("test: read scale");
    StepScalars values;
    Kokkos::deep_copy(values, scalars);
    if (rank == 2) {
      EXPECT_EQ(values.gradient_scale, expected);
    }
  }
}

TEST(Clip, LargeGradientsDoNotOverflowAndNanIsNotHidden) {
  EXPECT_GT(scale_of(1, std::vector<float>(16, 1e30f), 16), 0.0f);
  EXPECT_TRUE(
      std::isnan(scale_of(1, std::vector<float>(16, std::numeric_limits<float>::quiet_NaN()), 16)));
}

}  // namespace
}  // namespace quern

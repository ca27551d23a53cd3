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

using Ranges = std::vector<std::vector<SpreadRange>>;

/// The floats that a rank has of the block, where they lie in its own gradient, and NaN elsewhere.
std::vector<float> gradient_of(const std::vector<SpreadRange>& ranges,
                               const std::vector<float>& block) {
  std::vector<float> own(2 * block.size(), std::numeric_limits<float>::quiet_NaN());
  for (const SpreadRange& range : ranges) {
    const auto end = std::min(range.range.end, static_cast<std::int64_t>(block.size()));
    std::copy(block.begin() + range.range.begin, block.begin() + end, own.begin() + range.from);
  }
  return own;
}

/// What every rank comes to, and how many floats all parts of the exchange have.
std::vector<float> spread_scales(const Ranges& ranges, const std::vector<float>& block,
                                 std::size_t& exchanged) {
  const std::size_t ranks = ranges.size();
  std::vector<float> all_parts;
  std::vector<float> scales;
  for (const bool is_filled : {false, true}) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      GradientClip clip(0.5, static_cast<std::int64_t>(block.size()));
      clip.spread(ranges, static_cast<int>(rank));
      const StepScalarsView scalars("test::scalars");
      Kokkos::deep_copy(scalars, StepScalars());
      const ExecSpace exec;
      const FloatView own = test::to_view(gradient_of(ranges[rank], block));
      clip.set_scale(exec, scalars, own, [&](const FloatView& all) {
        exec.fence("test: read sums");
        const std::vector<float> floats = test::to_vector(all);
        exchanged = floats.size();
        if (is_filled) {
          test::overwrite(all, all_parts);
          return;
        }
        const std::size_t part = floats.size() / ranks;
        const auto begin = floats.begin() + static_cast<long>(rank * part);
        all_parts.insert(all_parts.end(), begin, begin + static_cast<long>(part));
      });
      exec.fence("test: read scale");
      StepScalars values;
      Kokkos::deep_copy(values, scalars);
      if (is_filled) scales.push_back(values.gradient_scale);
    }
  }
  return scales;
}

// Every rank sums up the chunks of its ranges; what they gather has the bits of the whole.
TEST(Clip, HasTheSameBitsWhereTheGradientIsSpread) {
  constexpr std::int64_t kChunk = GradientClip::kChunk;
  const std::int64_t size = 5 * kChunk + 48;
  const std::vector<float> gradient = test::random_values(static_cast<std::size_t>(size), 1);
  const float expected = scale_of(0.5, gradient, size);
  // Several ranges, one that ends behind the block, none.
  const Ranges whole_chunks = {{{{0, kChunk}, 0}, {{3 * kChunk, 4 * kChunk}, 3 * kChunk}},
                               {{{kChunk, 3 * kChunk}, 16}, {{4 * kChunk, 7 * kChunk}, 9000}},
                               {}};
  // Borders inside chunks, three in one of them; other places in the ranks' own gradients.
  const Ranges shared_chunks = {{{{0, 16}, 0}, {{48, kChunk + 32}, 16}},
                                {{{16, 48}, 160}, {{3 * kChunk - 16, 3 * kChunk + 64}, 512}},
                                {{{kChunk + 32, 3 * kChunk - 16}, 32},
                                 {{3 * kChunk + 64, 4 * kChunk}, 2 * kChunk},
                                 {{4 * kChunk, size}, 4 * kChunk}}};
  // What two ranks have counts once.
  const Ranges overlapping = {{{{0, 2 * kChunk + 160}, 0}},
                              {},
                              {{{kChunk, 3 * kChunk}, 0}, {{3 * kChunk, size}, 3 * kChunk}},
                              {{{kChunk + 48, 3 * kChunk + 16}, 96}}};
  for (const Ranges& ranges : {whole_chunks, shared_chunks, overlapping}) {
    std::size_t exchanged = 0;
    EXPECT_EQ(spread_scales(ranges, gradient, exchanged),
              std::vector<float>(ranges.size(), expected));
  }
}

// Sums of chunks alone, as long as no chunk is shared.
TEST(Clip, ExchangesLittle) {
  constexpr std::int64_t kChunk = GradientClip::kChunk;
  const std::int64_t size = 64 * kChunk;
  const std::vector<float> gradient = test::random_values(static_cast<std::size_t>(size), 1);
  std::size_t exchanged = 0;
  const std::int64_t half = 32 * kChunk;
  spread_scales({{{{0, half}, 0}}, {{{half, size}, 0}}}, gradient, exchanged);
  EXPECT_EQ(exchanged, 2 * 64u);
  spread_scales({{{{0, half + 16}, 0}}, {{{half + 16, size}, 0}}}, gradient, exchanged);
  EXPECT_LE(exchanged, 2 * (64u + static_cast<std::size_t>(kChunk)));
}

TEST(Clip, LargeGradientsDoNotOverflowAndNanIsNotHidden) {
  EXPECT_GT(scale_of(1, std::vector<float>(16, 1e30f), 16), 0.0f);
  EXPECT_TRUE(
      std::isnan(scale_of(1, std::vector<float>(16, std::numeric_limits<float>::quiet_NaN()), 16)));
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "optim/clip.hpp"

#include <gtest/gtest.h>

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

TEST(Clip, LargeGradientsDoNotOverflowAndNanIsNotHidden) {
  EXPECT_GT(scale_of(1, std::vector<float>(16, 1e30f), 16), 0.0f);
  EXPECT_TRUE(
      std::isnan(scale_of(1, std::vector<float>(16, std::numeric_limits<float>::quiet_NaN()), 16)));
}

}  // namespace
}  // namespace quern

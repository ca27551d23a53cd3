// SPDX-License-Identifier: Apache-2.0
#include "layers/normalize.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/random_values.hpp"
#include "support/views.hpp"

namespace quern {
namespace {

constexpr double kMean[] = {0.25, -3, 1000};
constexpr double kStd[] = {0.5, 7, 1e-3};

void expect_normalized(const Shape& shape, Layout layout, int rows, std::size_t numbers) {
  SCOPED_TRACE(to_string(shape) + ", " + std::to_string(rows) + " rows");
  std::vector<std::int64_t> samples;
  for (int s = 0; s < rows; ++s) samples.push_back(s % 5 == 4 ? -1 : s);
  const int units = shape.units();
  const std::vector<float> values =
      test::random_values(static_cast<std::size_t>(rows * units), 4, -2, 2);
  const Activation y = test::filled_activation(shape, layout, rows, 0);
  test::set_values(y, values);
  const Normalization normalization =
      make_normalization(shape, std::span(kMean).first(numbers), std::span(kStd).first(numbers));
  const ExecSpace exec;
  normalize(exec, normalization, test::to_view(samples), y);
  exec.fence("test: read y");
  const std::vector<float> found = test::values_of(y);
  for (int row = 0; row < rows; ++row) {
    for (int unit = 0; unit < units; ++unit) {
      const auto i = static_cast<std::size_t>(row * units + unit);
      const auto channel =
          numbers == 1 ? 0 : static_cast<std::size_t>(unit / (shape.height * shape.width));
      const float expected =
          (values[i] - static_cast<float>(kMean[channel])) / static_cast<float>(kStd[channel]);
      ASSERT_EQ(found[i], samples[static_cast<std::size_t>(row)] < 0 ? values[i] : expected);
    }
  }
  EXPECT_EQ(test::padding_of(y), 0);
  denormalize(exec, normalization, test::to_view(samples), y);
  exec.fence("test: read y");
  const std::vector<float> back = test::values_of(y);
  for (std::size_t i = 0; i < back.size(); ++i) {
    const auto unit = static_cast<int>(i) % units;
    const auto channel =
        numbers == 1 ? 0 : static_cast<std::size_t>(unit / (shape.height * shape.width));
    const double wide = double{found[i]} * kStd[channel];
    const bool is_empty = samples[i / static_cast<std::size_t>(units)] < 0;
    const double expected = is_empty ? values[i] : wide + kMean[channel];
    ASSERT_NEAR(back[i], expected,
                is_empty ? 0 : 2e-7 * (std::abs(wide) + std::abs(kMean[channel])));
  }
  EXPECT_EQ(test::padding_of(y), 0);
}

TEST(Normalize, EveryChannelByItsOwnNumbersOnOddSizes) {
  for (const Shape& shape : {Shape{3, 1, 1}, Shape{3, 5, 1}, Shape{3, 4, 4}, Shape{3, 7, 5}}) {
    for (const int rows : {1, 3, 17, 33})
      for (const Layout layout : test::flat_layouts()) expect_normalized(shape, layout, rows, 3);
    for (const int rows : {16, 48}) expect_normalized(shape, Layout::nchw16n, rows, 3);
  }
}

TEST(Normalize, OneNumberForAllChannels) {
  for (const Layout layout : test::flat_layouts()) expect_normalized({2, 3, 3}, layout, 18, 1);
  expect_normalized({1, 9, 3}, Layout::nchw16n, 32, 1);
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// The loss of a regression against pixels: bit for bit that against their values.
#include <gtest/gtest.h>

#include "loss/regression.hpp"
#include "support/random_values.hpp"
#include "support/tiles.hpp"
#include "unit/loss/loss_bench.hpp"

namespace quern::test {
namespace {

void expect_the_same(const LossSpec& spec, const TestBatch& batch, int units, Layout layout,
                     bool after_relu) {
  SCOPED_TRACE(name_of(spec) + ", " + std::to_string(batch.block_rows) + " rows a block, " +
               std::to_string(units) + " units");
  std::vector<std::uint8_t> pixels;  // all 256, in another order in each sample
  for (int i = 0; i < batch.samples * units; ++i)
    pixels.push_back(static_cast<std::uint8_t>(i * 37 + i / units));
  std::vector<float> values;
  for (const std::int64_t sample : sample_of_row(batch)) {
    for (std::int64_t u = 0; u < units; ++u) {
      const auto pixel = static_cast<std::size_t>(sample * units + u);
      values.push_back(sample < 0 ? 0.0f : static_cast<float>(pixels[pixel]) / 255.0f);
    }
  }
  std::vector<float> predictions = random_values(values.size(), 1);
  for (std::size_t i = 0; i < predictions.size(); i += 3) predictions[i] = 0;
  const Activation x = make_activation({units}, layout, batch.rows(), predictions, 900);
  LossTarget by_values;
  by_values.values = make_activation({units}, layout, batch.rows(), values, -900);
  LossTarget by_pixels;
  by_pixels.pixels = to_view(pixels);
  RegressionLoss loss(spec, {units});
  ASSERT_TRUE(loss.compares_pixels());
  if (after_relu) loss.apply_input_relu();
  for (const LossMode mode :
       {LossMode::train, LossMode::train_in_tiles, LossMode::train_read, LossMode::evaluate}) {
    const LossResult expected = run_loss(loss, batch, x, by_values, mode);
    const LossResult actual = run_loss(loss, batch, x, by_pixels, mode);
    EXPECT_EQ(actual.row_values, expected.row_values);
    EXPECT_EQ(actual.sums, expected.sums);
    EXPECT_EQ(actual.d_prediction, expected.d_prediction);
    EXPECT_EQ(actual.d_padding, expected.d_padding);
    if (mode != LossMode::train_in_tiles && mode != LossMode::train_read) continue;
    for (const TileOrder order : {TileOrder::by_unit, TileOrder::by_sample_of_gradients})
      EXPECT_EQ(values_in_tiles(actual.gradient, order), values_in_tiles(expected.gradient, order));
  }
}

TEST(RegressionPixels, GiveTheBitsOfTheirValues) {
  for (const LossSpec& spec : regression_losses()) {
    for (const Layout layout : {Layout::cn16c, Layout::nc}) {
      for (const bool after_relu : {false, true}) {
        for (const int units : {1, 10, 16, 17, 31, 32, 33, 64, 100, 784}) {
          expect_the_same(spec, {5, 2, 16}, units, layout, after_relu);
          expect_the_same(spec, {70, 32, 32}, units, layout, after_relu);
          expect_the_same(spec, {330, 60, 64}, units, layout, after_relu);
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern::test

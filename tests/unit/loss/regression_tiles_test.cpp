// SPDX-License-Identifier: Apache-2.0
// The gradient of a regression's loss as operands of products: that in float, rounded. Of an
// array, and of a prediction that is handed over.
#include <gtest/gtest.h>

#include "loss/regression.hpp"
#include "support/random_values.hpp"
#include "support/tiles.hpp"
#include "unit/loss/loss_bench.hpp"

namespace quern::test {
namespace {

void expect_rounded_gradient(const LossSpec& spec, const TestBatch& batch, int units, Layout layout,
                             bool after_relu) {
  SCOPED_TRACE(name_of(spec) + ", " + std::to_string(batch.block_rows) + " rows a block, " +
               std::to_string(units) + " units");
  const auto count = static_cast<std::size_t>(batch.rows() * units);
  std::vector<float> predictions = random_values(count, 1);
  for (std::size_t i = 0; i < count; i += 3) predictions[i] = 0;
  std::vector<float> wanted = random_values(count, 2);
  for (std::size_t i = 1; i < count; i += 5) wanted[i] = predictions[i] + (i % 2 ? 0.4f : -0.4f);
  for (std::size_t i = 2; i < count; i += 5) wanted[i] = predictions[i];
  const Activation x = make_activation({units}, layout, batch.rows(), predictions, 900);
  LossTarget target;
  target.values = make_activation({units}, layout, batch.rows(), wanted, -900);
  RegressionLoss loss(spec, {units});
  ASSERT_TRUE(loss.writes_gradient_tiles() && loss.reads_tiles());
  if (after_relu) loss.apply_input_relu();
  const LossResult expected = run_loss(loss, batch, x, target);
  const std::vector<float> gradient = padded_to_tiles(rounded(expected.d_prediction), units);
  for (const LossMode mode : {LossMode::train_in_tiles, LossMode::train_read}) {
    const LossResult actual = run_loss(loss, batch, x, target, mode);
    EXPECT_EQ(actual.row_values, expected.row_values);
    EXPECT_EQ(actual.sums, expected.sums);
    for (const TileOrder order : {TileOrder::by_unit, TileOrder::by_sample_of_gradients})
      EXPECT_EQ(values_in_tiles(actual.gradient, order), gradient);
    EXPECT_EQ(behind_last_rows(actual.gradient, TileOrder::by_sample_of_gradients), 0);
  }
}

TEST(RegressionTiles, HoldTheRoundedGradientInBothOrders) {
  for (const LossSpec& spec : regression_losses()) {
    for (const Layout layout : {Layout::cn16c, Layout::nc}) {
      for (const bool after_relu : {false, true}) {
        for (const int units : {1, 10, 16, 17, 31, 32, 33, 100}) {
          expect_rounded_gradient(spec, {5, 2, 16}, units, layout, after_relu);
          expect_rounded_gradient(spec, {70, 32, 32}, units, layout, after_relu);
          expect_rounded_gradient(spec, {70, 40, 48}, units, layout, after_relu);
          expect_rounded_gradient(spec, {330, 60, 64}, units, layout, after_relu);
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern::test

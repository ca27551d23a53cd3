// SPDX-License-Identifier: Apache-2.0
// Runs a loss once over a test batch and hands back everything that it wrote.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "linalg/reference/block_sum.hpp"
#include "loss/loss.hpp"
#include "support/random_values.hpp"
#include "support/test_step.hpp"

namespace quern::test {

struct LossResult {
  std::vector<float> row_values;    ///< [rows, 2]
  std::vector<float> d_prediction;  ///< [rows, units]
  float d_padding = 0;
  std::vector<float> sums;  ///< [partial sums, stride]
  Activation gradient;
};

/// One for each error function. Errors of random_values() lie on both sides of delta.
inline std::vector<LossSpec> regression_losses() {
  return {{.type = LossType::mse}, {.type = LossType::l1}, {.type = LossType::huber, .delta = 0.4}};
}

inline std::string name_of(const LossSpec& loss) {
  return to_string(loss.type);
}

inline constexpr std::int64_t kSumStride = 5;
inline constexpr std::int64_t kSumOffset = 2;

/// In tiles: the gradient only; d_prediction stays empty. Read: the prediction, too, as a layer
/// hands it over. In place: of a copy of the prediction.
enum class LossMode { train, train_in_tiles, train_read, train_in_place, evaluate };

/// Calls `reader` with a flat prediction, in tiles of `gradient`.
inline void hand_over(const Activation& prediction, const Activation& gradient,
                      const OutputReader& reader) {
  const OperandTiles tiles(gradient);
  const ActivationIndex at(prediction);
  for (int tile = 0; tile < tiles.num_tiles(); ++tile) {
    alignas(64) float state[OutputReader::kStateFloats];
    std::fill(std::begin(state), std::end(state), 777.0f);
    for (int unit = 0; unit < tiles.units; unit += kLanes) {
      alignas(64) float rows[2 * kLanes * kLanes] = {};
      for (int i = 0; i < tiles.groups_of(tile) * kLanes * kLanes; ++i) {
        const int u = unit + i / kLanes % kLanes;
        const int row = (tiles.first_group(tile) + i / (kLanes * kLanes)) * kLanes + i % kLanes;
        if (u < prediction.shape.units()) rows[i] = prediction.data(at(row, u));
      }
      reader.read(tile, unit, rows, state);
    }
  }
}

inline LossResult run_loss(Loss& loss, const TestBatch& batch, const Activation& prediction,
                           const LossTarget& target, LossMode mode = LossMode::train) {
  const StepContext step = make_test_step(batch);
  loss.allocate(batch.rows());
  const GradientSums sums{FloatView("test::sums", static_cast<std::size_t>(
                                                      step.schedule.num_partial_sums * kSumStride)),
                          kSumStride};
  Kokkos::deep_copy(sums.data, 777.0f);
  LossResult result;
  Activation own = prediction;
  if (mode == LossMode::train_in_place) {
    own = filled_activation(prediction.shape, prediction.layout, prediction.rows, 0);
    Kokkos::deep_copy(own.data, prediction.data);
    result.gradient = own;
  } else if (mode != LossMode::evaluate) {
    const Layout layout = mode == LossMode::train ? prediction.layout : Layout::tiles;
    result.gradient = filled_activation(prediction.shape, layout, prediction.rows, 777);
    result.gradient.block_rows = batch.block_rows;
  }
  const ExecSpace exec;
  const LossContext context{step.schedule, step.scalars, step.sample_of_row};
  if (mode == LossMode::train_read) {
    hand_over(own, result.gradient, loss.begin_reading(context, target, result.gradient));
    loss.add_rows(exec, context, sums, kSumOffset);
  } else {
    loss.compute(exec, context, own, target, result.gradient, sums, kSumOffset);
  }
  exec.fence("test: read results");
  result.row_values = to_vector(loss.row_values());
  result.row_values.resize(static_cast<std::size_t>(batch.rows() * Loss::kColumns));
  if (mode == LossMode::train || mode == LossMode::train_in_place) {
    result.d_prediction = values_of(result.gradient);
    result.d_padding = padding_of(result.gradient);
  }
  result.sums = to_vector(sums.data);
  return result;
}

/// What `sums` must hold, from the row values, by the reference block tree sum.
inline std::vector<float> expected_sums(const TestBatch& batch,
                                        const std::vector<float>& row_values) {
  const BlockTree::Traversal traversal =
      BlockTree(batch.num_blocks() + 2).traverse_blocks(1, 1 + batch.num_blocks());
  std::vector<float> sums(traversal.roots.size() * kSumStride, 777.0f);
  for (std::size_t column = 0; column < Loss::kColumns; ++column) {
    std::vector<float> values;
    for (std::size_t i = column; i < row_values.size(); i += Loss::kColumns)
      values.push_back(row_values[i]);
    const auto roots =
        reference::block_tree_sum(traversal, static_cast<std::size_t>(batch.block_rows), values);
    for (std::size_t p = 0; p < roots.size(); ++p)
      sums[p * kSumStride + kSumOffset + column] = roots[p];
  }
  return sums;
}

/// Predictions, and numbers that they are compared with; padding is far from both.
struct ValuesBench {
  std::vector<float> predictions;
  std::vector<float> wanted;
  Activation x;
  LossTarget target;
};

struct ValueRange {
  float low = -1;
  float high = 1;
};

inline ValuesBench make_values_bench(const TestBatch& batch, const Shape& shape, Layout layout,
                                     const ValueRange& predicted = {},
                                     const ValueRange& wanted = {}) {
  const auto count = static_cast<std::size_t>(batch.rows() * shape.units());
  ValuesBench bench;
  bench.predictions = random_values(count, 1, predicted.low, predicted.high);
  bench.wanted = random_values(count, 2, wanted.low, wanted.high);
  bench.x = make_activation(shape, layout, batch.rows(), bench.predictions, 900);
  bench.target.values = make_activation(shape, layout, batch.rows(), bench.wanted, -900);
  return bench;
}

/// Runs the loss, and holds the values and gradients of all rows, and the sums, against a reference
/// for one sample: value_of(x, t), gradient_of(x, t) and right_of(x, t), the number of right
/// answers, of doubles. Empty rows have zeros.
template <class Value, class Gradient, class Right>
void expect_rows_match(Loss& loss, const TestBatch& batch, const ValuesBench& bench,
                       const Value& value_of, const Gradient& gradient_of, const Right& right_of,
                       double tolerance) {
  const int units = loss.shape().units();
  const LossResult result = run_loss(loss, batch, bench.x, bench.target);
  const std::vector<std::int64_t> samples = sample_of_row(batch);
  for (int s = 0; s < batch.rows(); ++s) {
    const auto row = static_cast<std::size_t>(s);
    const std::vector<float> dx = sample_of(result.d_prediction, units, s);
    if (samples[row] < 0) {
      EXPECT_EQ(dx, std::vector<float>(dx.size(), 0.0f));
      EXPECT_EQ(result.row_values[2 * row], 0);
      EXPECT_EQ(result.row_values[2 * row + 1], 0);
      continue;
    }
    const std::vector<float> floats = sample_of(bench.predictions, units, s);
    const std::vector<float> wanted = sample_of(bench.wanted, units, s);
    const std::vector<double> x(floats.begin(), floats.end());
    const std::vector<double> t(wanted.begin(), wanted.end());
    EXPECT_NEAR(result.row_values[2 * row], value_of(x, t), tolerance);
    EXPECT_EQ(result.row_values[2 * row + 1], right_of(x, t));
    const std::vector<double> gradient = gradient_of(x, t);
    for (std::size_t u = 0; u < dx.size(); ++u)
      EXPECT_NEAR(double{dx[u]} * batch.samples, gradient[u], 1e-6);
  }
  EXPECT_EQ(result.d_padding, 0);
  EXPECT_EQ(result.sums, expected_sums(batch, result.row_values));
}

}  // namespace quern::test

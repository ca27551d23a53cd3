// SPDX-License-Identifier: Apache-2.0
#include "loss/loss.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "linalg/block_sum.hpp"
#include "loss/binary_cross_entropy.hpp"
#include "loss/cross_entropy.hpp"
#include "loss/custom_loss.hpp"
#include "loss/regression.hpp"

namespace quern {

void Loss::allocate(int max_rows) {
  row_values_ = FloatView("quern::loss::row_values", static_cast<std::size_t>(max_rows) * kColumns);
  allocate_own();
}

void Loss::set_class_weights(const std::vector<double>&) {
  throw Error("Loss::set_class_weights: this loss has no classes");
}

void Loss::check_rows(const LossContext& step, const Activation& array) const {
  const int rows = step.schedule.rows();
  expect(array.shape == shape_, "an array of the shape the loss was made for");
  expect(array.rows == rows && step.sample_of_row.extent_int(0) >= rows,
         "a prediction and a sample for every row");
  expect(row_values_.extent_int(0) >= rows * kColumns, "allocate() for as many rows");
}

void Loss::compute(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                   const LossTarget& target, const Activation& d_prediction,
                   const GradientSums& sums, std::int64_t offset) const {
  check_rows(step, prediction);
  expect(d_prediction.empty() ||
             (d_prediction.shape == shape_ && d_prediction.rows == prediction.rows),
         "a gradient shaped like the prediction");
  const bool in_tiles = writes_gradient_tiles() && d_prediction.layout == Layout::tiles &&
                        prediction.layout != Layout::nchw16n &&
                        d_prediction.block_rows == step.schedule.block_rows;
  expect(d_prediction.empty() || d_prediction.layout == prediction.layout || in_tiles,
         "a gradient laid out like the prediction");
  if (prediction.rows == 0) return;
  if (!d_prediction.empty() && !sets_padding()) {
    const std::pair<std::int64_t, std::int64_t> in_use(0, d_prediction.size());
    Kokkos::deep_copy(exec, Kokkos::subview(d_prediction.data, in_use), 0.0f);
  }
  evaluate_rows(exec, step, prediction, target, d_prediction, row_values_);
  add_rows(exec, step, sums, offset);
}

const OutputReader& Loss::begin_reading(const LossContext& step, const LossTarget& target,
                                        const Activation& d_prediction) const {
  check_rows(step, d_prediction);
  expect(
      d_prediction.layout == Layout::tiles && d_prediction.block_rows == step.schedule.block_rows,
      "a gradient in tiles of the schedule");
  return begin_tiles(step, target, d_prediction, row_values_);
}

const OutputReader& Loss::begin_tiles(const LossContext&, const LossTarget&, const Activation&,
                                      const FloatView&) const {
  throw Error("Loss::begin_reading: this loss reads no tiles");
}

void Loss::add_rows(const ExecSpace& exec, const LossContext& step, const GradientSums& sums,
                    std::int64_t offset) const {
  const int rows = step.schedule.rows();
  if (rows == 0) return;
  block_tree_sum(exec, "quern::loss::block_tree_sum", step.schedule,
                 {row_values_.data(), rows, kColumns, kColumns}, sums, offset);
}

std::unique_ptr<Loss> make_loss(const LossSpec& spec, const Shape& prediction) {
  switch (spec.type) {
    case LossType::cross_entropy:
      return std::make_unique<CrossEntropy>(prediction, spec.label_smoothing,
                                            spec.class_weights.values);
    case LossType::binary_cross_entropy:
      return std::make_unique<BinaryCrossEntropy>(prediction, spec.pos_weight);
    case LossType::mse:
    case LossType::l1:
    case LossType::huber:
      return std::make_unique<RegressionLoss>(spec, prediction);
    case LossType::custom:
      return make_custom_loss(spec, prediction);
  }
  throw Error("make_loss: no loss of such a type");
}

}  // namespace quern

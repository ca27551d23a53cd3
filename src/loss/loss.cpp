// SPDX-License-Identifier: Apache-2.0
#include "loss/loss.hpp"

#include "base/assert.hpp"
#include "linalg/block_sum.hpp"
#include "loss/cross_entropy.hpp"
#include "loss/mse.hpp"

namespace quern {

void Loss::allocate(int max_slots) {
  slot_values_ =
      FloatView("quern::loss::slot_values", static_cast<std::size_t>(max_slots) * kColumns);
}

void Loss::compute(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                   const LossTarget& target, const Activation& d_prediction,
                   const GradientPartials& sums, std::int64_t offset) const {
  const int slots = step.schedule.slots();
  expect(prediction.shape == shape_, "a prediction of the shape the loss was made for");
  expect(prediction.slots == slots && step.sample_of_slot.extent_int(0) >= slots,
         "a prediction and a sample for every slot");
  expect(slot_values_.extent_int(0) >= slots * kColumns, "allocate() for as many slots");
  expect(d_prediction.empty() || (d_prediction.layout == prediction.layout &&
                                  d_prediction.shape == shape_ && d_prediction.slots == slots),
         "a gradient shaped like the prediction");
  if (slots == 0) return;
  evaluate_slots(exec, step, prediction, target, d_prediction, slot_values_);
  block_tree_sum(exec, "quern::loss::block_tree_sum", step.schedule,
                 {slot_values_.data(), slots, kColumns, kColumns}, sums, offset);
}

std::unique_ptr<Loss> make_loss(const LossSpec& spec, const Shape& prediction) {
  if (spec.type == LossType::mse) return std::make_unique<Mse>(prediction);
  return std::make_unique<CrossEntropy>(prediction);
}

}  // namespace quern

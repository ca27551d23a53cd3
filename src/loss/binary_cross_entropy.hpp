// SPDX-License-Identifier: Apache-2.0
// Cross entropy of numbers that are probabilities, each by itself: with x what the network puts out
// and p = sigmoid(x) = 1 / (1 + exp(-x)), of U units per sample
//   loss = sum_u (-w t_u log p_u - (1 - t_u) log(1 - p_u)) / U
//        = sum_u (max(x_u, 0) - x_u t_u + log(1 + exp(-|x_u|)) - (w - 1) t_u log p_u) / U
//   -log p_u = max(-x_u, 0) + log(1 + exp(-|x_u|))
//   d_x_u = (p_u - t_u + (w - 1) t_u (p_u - 1)) inverse_count / U
// as torch.nn.BCEWithLogitsLoss(pos_weight=w). Stable for any finite x. An answer is right where
// the probability and the target lie on the same side of 1/2, which itself is "no": x_u > 0 just
// where t_u > 1/2.
#pragma once

#include "loss/loss.hpp"

namespace quern {

/// Works in either layout. Reads target.values (same shape, layout and rows as the prediction):
/// numbers from 0 to 1.
class BinaryCrossEntropy final : public Loss {
 public:
  /// `pos_weight`: w, above 0.
  explicit BinaryCrossEntropy(const Shape& prediction, double pos_weight = 1)
      : Loss(prediction), more_(static_cast<float>(pos_weight) - 1) {}
  std::int64_t answers_per_sample() const override { return shape().units(); }
  void put_predictions(const ExecSpace& exec, const Activation& output) const override;

 protected:
  bool sets_padding() const override { return true; }
  void evaluate_rows(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                     const LossTarget& target, const Activation& d_prediction,
                     const FloatView& values) const override;

 private:
  float more_;  // w - 1
};

}  // namespace quern

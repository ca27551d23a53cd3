// SPDX-License-Identifier: Apache-2.0
// Cross entropy of softmax(x) and the label, fused: with m = max x and z = sum exp(x_v - m),
//   loss = log z + m - x_label      d_x_v = (exp(x_v - m) / z - [v = label]) inverse_count
// as torch.nn.CrossEntropyLoss (mean). Stable for any finite x.
#pragma once

#include "loss/loss.hpp"

namespace quern {

/// Prediction: rows of V logits. Reads target.labels; a label that is not in [0, V) makes the loss
/// NaN (readers of data check labels before training starts).
class CrossEntropy final : public Loss {
 public:
  /// Throws InputError unless `prediction` is flat.
  explicit CrossEntropy(const Shape& prediction);
  Layout input_layout(Layout) const override { return flat_layout(); }

 protected:
  void evaluate_rows(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                     const LossTarget& target, const Activation& d_prediction,
                     const FloatView& values) const override;
};

}  // namespace quern

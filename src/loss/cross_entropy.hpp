// SPDX-License-Identifier: Apache-2.0
// Cross entropy of softmax(x) and the label, fused: with m = max x and z = sum exp(x_v - m),
//   loss = log z + m - x_label      d_x_v = (exp(x_v - m) / z - [v = label]) inverse_count
// as torch.nn.CrossEntropyLoss (mean). Stable for any finite x. With label smoothing e the target
// is no longer 1 at the label, but q_v = (1 - e) [v = label] + e / V:
//   loss = log z + (1 - e) (m - x_label) + e sum_v (m - x_v) / V
//   d_x_v = (exp(x_v - m) / z - q_v) inverse_count
// With class weights w each term of the target counts w_v times, q_v w_v, and the target is no
// longer 1 in all but Q = (1 - e) w_label + e sum_v w_v / V:
//   loss = Q log z + (1 - e) w_label (m - x_label) + e sum_v w_v (m - x_v) / V
//   d_x_v = (Q exp(x_v - m) / z - q_v w_v) inverse_count
// as torch.nn.CrossEntropyLoss(weight=w, reduction="none"): the sum over a batch is divided by the
// number of its samples, not by the sum of their weights.
#pragma once

#include <vector>

#include "loss/cross_entropy_kernels.hpp"
#include "loss/loss.hpp"

namespace quern {

/// Prediction: rows of V logits. Reads target.labels; a label that is not in [0, V) makes the loss
/// NaN (readers of data check labels before training starts).
class CrossEntropy final : public Loss {
 public:
  /// `label_smoothing`: e, in [0, 1]. `class_weights`: w, or empty where all are 1. Throws
  /// InputError unless `prediction` is flat and there are as many weights, or none.
  explicit CrossEntropy(const Shape& prediction, double label_smoothing = 0,
                        const std::vector<double>& class_weights = {});
  Layout input_layout(Layout) const override { return flat_layout(); }
  /// Is the largest prediction (of equals the first) the labelled class?
  std::int64_t answers_per_sample() const override { return 1; }
  void set_class_weights(const std::vector<double>& weights) override;

 protected:
  bool sets_padding() const override { return true; }
  void evaluate_rows(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                     const LossTarget& target, const Activation& d_prediction,
                     const FloatView& values) const override;

 private:
  void allocate_own() override;

  SmoothedTargets targets_;
  std::vector<float> weights_;  // empty where all are 1
  FloatView weights_view_;      // where kernels read them, after allocate()
  FloatView whole_view_;        // of each label: Q
};

}  // namespace quern

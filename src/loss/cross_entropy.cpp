// SPDX-License-Identifier: Apache-2.0
#include "loss/cross_entropy.hpp"

#include "base/assert.hpp"
#include "base/error.hpp"

namespace quern {

namespace {

LabelSmoothing smoothing_of(double share, int classes) {
  LabelSmoothing smoothing;
  smoothing.share = static_cast<float>(share);
  smoothing.others = static_cast<float>(share / classes);
  smoothing.label = static_cast<float>(1 - share + share / classes);
  return smoothing;
}

}  // namespace

CrossEntropy::CrossEntropy(const Shape& prediction, double label_smoothing)
    : Loss(prediction), smoothing_(smoothing_of(label_smoothing, prediction.units())) {
  if (!prediction.is_flat())
    throw InputError("cross_entropy needs one value per class from the last layer, not the shape " +
                     to_string(prediction) + " (end the network with a linear layer)");
}

void CrossEntropy::evaluate_rows(const ExecSpace& exec, const LossContext& step,
                                 const Activation& prediction, const LossTarget& target,
                                 const Activation& d_prediction, const FloatView& values) const {
  expect(prediction.layout == flat_layout(), "a prediction in the layout of flat layers");
  const auto evaluate = choose_kernels<EvaluateCrossEntropy>(
      {.host = host_set<host::cross_entropy>(), .device = device::cross_entropy});
  evaluate(exec, step, prediction, target, d_prediction, values, smoothing_);
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "loss/cross_entropy.hpp"

#include "base/assert.hpp"
#include "base/error.hpp"
#include "loss/cross_entropy_kernels.hpp"

namespace quern {

CrossEntropy::CrossEntropy(const Shape& prediction) : Loss(prediction) {
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
  evaluate(exec, step, prediction, target, d_prediction, values);
}

}  // namespace quern

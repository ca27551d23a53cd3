// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loss/loss.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

/// What CrossEntropy::evaluate_rows says.
using EvaluateCrossEntropy = void(const ExecSpace& exec, const LossContext& step,
                                  const Activation& prediction, const LossTarget& target,
                                  const Activation& d_prediction, const FloatView& values);

namespace host {
EvaluateCrossEntropy cross_entropy;
}
namespace device {
EvaluateCrossEntropy cross_entropy;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// loss/cross_entropy.hpp on a CPU, vectorised.
#pragma once

#include "loss/loss.hpp"

namespace quern::host {

/// What CrossEntropy::evaluate_slots says; predictions in rows or panels.
void cross_entropy(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                   const LossTarget& target, const Activation& d_prediction,
                   const FloatView& values);

}  // namespace quern::host

// SPDX-License-Identifier: Apache-2.0
// loss/cross_entropy.hpp on a CPU, vectorised.
#pragma once

#include "loss/loss.hpp"

namespace quern::host {

/// What CrossEntropy::evaluate_rows says; predictions in nc or cn16c.
void cross_entropy(const ExecSpace& exec, const LossContext& step, const Activation& prediction,
                   const LossTarget& target, const Activation& d_prediction,
                   const FloatView& values);

}  // namespace quern::host

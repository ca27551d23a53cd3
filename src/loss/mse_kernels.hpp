// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "loss/loss.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

/// What Mse::evaluate_rows says. `after_relu`: d_prediction is the gradient in front of the ReLU
/// that the prediction comes out of.
using EvaluateMse = void(const ExecSpace& exec, const LossContext& step,
                         const Activation& prediction, const LossTarget& target,
                         const Activation& d_prediction, const FloatView& values, bool after_relu);

/// What Mse::begin_tiles says. `values`: of the rows.
class MseReader : public OutputReader {
 public:
  virtual void begin(const LossContext& step, const LossTarget& target,
                     const Activation& d_prediction, const FloatView& values, bool after_relu) = 0;
};
using MakeMseReader = std::unique_ptr<MseReader>();

namespace host {
EvaluateMse mse;
MakeMseReader make_mse_reader;
}  // namespace host
namespace device {
EvaluateMse mse;
}

}  // namespace quern

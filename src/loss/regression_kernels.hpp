// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "loss/loss.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

struct RegressionOptions {
  LossSpec loss;    ///< of a type that has an error function
  bool after_relu;  ///< d_prediction is the gradient in front of the ReLU that the prediction comes
                    ///< out of
};

/// What RegressionLoss::evaluate_rows says.
using EvaluateRegression = void(const ExecSpace& exec, const LossContext& step,
                                const Activation& prediction, const LossTarget& target,
                                const Activation& d_prediction, const FloatView& values,
                                const RegressionOptions& options);

/// What RegressionLoss::begin_tiles says. `values`: of the rows.
class RegressionReader : public OutputReader {
 public:
  virtual void begin(const LossContext& step, const LossTarget& target,
                     const Activation& d_prediction, const FloatView& values, bool after_relu) = 0;
};
using MakeRegressionReader = std::unique_ptr<RegressionReader>(const LossSpec& loss);

namespace host {
EvaluateRegression regression;
MakeRegressionReader make_regression_reader;
}  // namespace host
namespace device {
EvaluateRegression regression;
}

}  // namespace quern

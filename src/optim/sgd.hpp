// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent as torch.optim.SGD (dampening 0):
//   g += weight_decay p;  b = momentum b + g (b = 0 before the first step);
//   g = b, or g + momentum b with Nesterov;  p -= lr g
#pragma once

#include "optim/optimizer.hpp"
#include "optim/weight_decay.hpp"

namespace quern {

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerSpec& spec, const ParameterTable& table, const OptimizerPart& part = {});
  void update(const ExecSpace& exec, const StepScalarsView& scalars, const FloatView& parameters,
              const ConstFloatView& gradient) override;
  ParameterUpdate begin_update(const ExecSpace& exec, const StepScalarsView& scalars,
                               const FloatView& parameters) override;

 private:
  static void update_pieces(const void* sgd, std::int64_t begin, std::int64_t end,
                            const float* gradient);

  float momentum_;
  WeightDecay weight_decay_;
  bool nesterov_;
  FloatView momentum_buffer_;  ///< empty without momentum
  // Of begin_update().
  float* parameters_ = nullptr;  ///< this optimizer's part
  StepScalarsView scalars_;
};

}  // namespace quern

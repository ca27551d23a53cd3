// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent as torch.optim.SGD (dampening 0):
//   g += weight_decay p;  b = momentum b + g (b = 0 before the first step);
//   g = b, or g + momentum b with Nesterov;  p -= lr g
#pragma once

#include "optim/optimizer.hpp"
#include "optim/parameter_groups.hpp"

namespace quern {

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerSpec& spec, const ParameterTable& table, const OptimizerPart& part = {});
  void update(const ExecSpace& exec, const StepScalarsView& scalars, const FloatView& parameters,
              const ConstFloatView& gradient) override;
  void update_pieces(std::int64_t begin, std::int64_t end, const float* gradient) const override;

 private:
  bool begin_pieces(const ExecSpace& exec, const StepScalarsView& scalars) override;

  float momentum_;
  ParameterGroups groups_;
  bool nesterov_;
  FloatView momentum_buffer_;  ///< empty without momentum
  StepScalarsView scalars_;    ///< of begin_pieces()
};

}  // namespace quern

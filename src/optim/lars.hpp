// SPDX-License-Identifier: Apache-2.0
// LARS: SGD as in optim/sgd.hpp, where a weight tensor's gradient is multiplied by its trust ratio
// (optim/trust_ratios.hpp):
//   g = ratio (g + weight_decay p);  b = momentum b + g (b = 0 before the first step);
//   g = b, or g + momentum b with Nesterov;  p -= lr g
// The learning rate is outside of b, as in PyTorch's SGD, timm's Lars and NVIDIA's LARC; the
// paper's b has it inside, which differs only where the rate changes.
#pragma once

#include "optim/trusted_optimizer.hpp"

namespace quern {

class Lars final : public TrustedOptimizer {
 public:
  Lars(const OptimizerSpec& spec, const ParameterTable& table, const OptimizerPart& part = {});
  void prepare_update(const ExecSpace& exec, const StepScalarsView& scalars,
                      const FloatView& parameters, const ConstFloatView& gradient) override;

 private:
  void update_own(const ExecSpace& exec, const StepScalarsView& scalars,
                  const FloatView& parameters, const ConstFloatView& gradient) override;

  float momentum_;
  bool nesterov_;
  FloatView momentum_buffer_;  ///< empty without momentum
};

}  // namespace quern

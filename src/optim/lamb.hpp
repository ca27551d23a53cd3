// SPDX-License-Identifier: Apache-2.0
// LAMB: Adam's direction with decoupled weight decay, multiplied in a weight tensor by its trust
// ratio (optim/trust_ratios.hpp); t = steps done including this one:
//   m += (1 - beta1) (g - m);  v = beta2 v + (1 - beta2) g^2
//   r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay p
//   p -= lr ratio r
// The paper's phi is the identity. NVIDIA's FusedLAMB and timm's Lamb clip the gradient by a norm
// of 1 of their own accord, where optimizer.clip_norm says it here.
#pragma once

#include "optim/trusted_optimizer.hpp"

namespace quern {

/// What changes from step to step, computed once per step where the kernels run.
struct LambFactors {
  bool apply_updates = true;
  float gradient_scale = 1;
  float mean_correction = 1;     ///< 1 / (1 - beta1^t)
  float inverse_correction = 1;  ///< 1 / sqrt(1 - beta2^t)
};

class Lamb final : public TrustedOptimizer {
 public:
  Lamb(const OptimizerSpec& spec, const ParameterTable& table, const OptimizerPart& part = {});
  void prepare_update(const ExecSpace& exec, const StepScalarsView& scalars,
                      const FloatView& parameters, const ConstFloatView& gradient) override;

 private:
  void update_own(const ExecSpace& exec, const StepScalarsView& scalars,
                  const FloatView& parameters, const ConstFloatView& gradient) override;

  double beta1_;
  double beta2_;
  float eps_;
  ScalarView<LambFactors> factors_;
  FloatView exp_avg_;
  FloatView exp_avg_sq_;
  FloatView direction_;  // r of this part, from prepare_update() to update()
};

}  // namespace quern

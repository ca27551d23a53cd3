// SPDX-License-Identifier: Apache-2.0
// Adam and AdamW as torch.optim.Adam and AdamW; t = steps done including this one:
//   Adam g += weight_decay p;  AdamW p *= 1 - lr weight_decay
//   m += (1 - beta1) (g - m);  v = beta2 v + (1 - beta2) g^2
//   p -= lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
// Kingma, Ba: "Adam", ICLR 2015; Loshchilov, Hutter: "Decoupled weight decay", ICLR 2019.
#pragma once

#include "optim/optimizer.hpp"
#include "optim/parameter_groups.hpp"

namespace quern {

/// Host constants of Adam, as floats for the kernel.
struct AdamSettings {
  double beta1 = 0.9;
  double beta2 = 0.999;
  float eps = 1e-8f;
  bool decoupled = false;  ///< AdamW
};

/// What changes from step to step, computed once per step where the kernel runs.
struct AdamFactors {
  bool apply_updates = true;
  float gradient_scale = 1;
  double learning_rate = 0;
  float step_size = 0;           ///< lr / (1 - beta1^t)
  float inverse_correction = 1;  ///< 1 / sqrt(1 - beta2^t)
};

class Adam final : public Optimizer {
 public:
  Adam(const OptimizerSpec& spec, const ParameterTable& table, const OptimizerPart& part = {});
  void update(const ExecSpace& exec, const StepScalarsView& scalars, const FloatView& parameters,
              const ConstFloatView& gradient) override;
  void update_pieces(std::int64_t begin, std::int64_t end, const float* gradient) const override;

 private:
  bool begin_pieces(const ExecSpace& exec, const StepScalarsView& scalars) override;

  AdamSettings settings_;
  ParameterGroups groups_;
  ScalarView<AdamFactors> factors_;
  FloatView exp_avg_;
  FloatView exp_avg_sq_;
};

}  // namespace quern

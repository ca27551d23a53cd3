// SPDX-License-Identifier: Apache-2.0
// Reference implementations of the optimizers, for one parameter, in double.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/error.hpp"
#include "spec/training_spec.hpp"

namespace quern::reference {

/// One parameter with its state. `step` counts from 1 in the formulas below.
struct Parameter {
  double value = 0;
  double momentum_buffer = 0;
  double exp_avg = 0;
  double exp_avg_sq = 0;
};

inline void sgd(const OptimizerSpec& spec, std::int64_t step, double lr, double gradient,
                Parameter& p) {
  double g = gradient + spec.weight_decay * p.value;
  if (spec.momentum != 0) {
    p.momentum_buffer = step == 1 ? g : spec.momentum * p.momentum_buffer + g;
    g = spec.nesterov ? g + spec.momentum * p.momentum_buffer : p.momentum_buffer;
  }
  p.value -= lr * g;
}

inline void adam(const OptimizerSpec& spec, std::int64_t step, double lr, double gradient,
                 Parameter& p) {
  double g = gradient;
  if (spec.type == OptimizerType::adamw)
    p.value -= lr * spec.weight_decay * p.value;
  else
    g += spec.weight_decay * p.value;
  p.exp_avg = spec.beta1 * p.exp_avg + (1 - spec.beta1) * g;
  p.exp_avg_sq = spec.beta2 * p.exp_avg_sq + (1 - spec.beta2) * g * g;
  const double mean = p.exp_avg / (1 - std::pow(spec.beta1, step));
  const double square = p.exp_avg_sq / (1 - std::pow(spec.beta2, step));
  p.value -= lr * mean / (std::sqrt(square) + spec.eps);
}

inline void update(const OptimizerSpec& spec, std::int64_t step, double lr, double gradient,
                   Parameter& p) {
  switch (spec.type) {
    case OptimizerType::sgd:
      return sgd(spec, step, lr, gradient, p);
    case OptimizerType::adam:
    case OptimizerType::adamw:
      return adam(spec, step, lr, gradient, p);
    case OptimizerType::lars:
    case OptimizerType::lamb:
      break;  // of whole tensors: optim/reference/trusted_optimizer.hpp
  }
  throw Error("reference::update: expected an optimizer of single parameters");
}

}  // namespace quern::reference

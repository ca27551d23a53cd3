// SPDX-License-Identifier: Apache-2.0
// Reference implementations of LARS and LAMB, tensor by tensor, in double; and of the trust ratios'
// order of additions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "optim/reference/clip.hpp"
#include "optim/reference/optimizer.hpp"

namespace quern::reference {

/// Of the floats [begin, end) of a block: cut at the multiples of 4096, piece by piece.
inline double squares_in_block(std::span<const float> block, std::size_t begin, std::size_t end) {
  double total = 0;
  while (begin < end) {
    const std::size_t next = std::min(end, (begin / 4096 + 1) * 4096);
    total += sum_of_squares(block.subspan(begin, next - begin));
    begin = next;
  }
  return total;
}

/// From the sums of squares of a tensor, and of its gradient before clipping by `scale` (LARS) or
/// its direction (LAMB).
inline double trust_ratio(const OptimizerSpec& spec, double scale, double weights, double other) {
  const double norm = std::sqrt(weights);
  const bool is_lars = spec.type == OptimizerType::lars;
  const double divisor =
      is_lars ? scale * std::sqrt(other) + spec.weight_decay * norm : std::sqrt(other);
  if (norm == 0 || divisor == 0) return 1;
  return (is_lars ? spec.trust_coefficient : 1) * norm / divisor;
}

/// What a tensor is, and what is done to it.
struct TensorStep {
  std::int64_t step = 1;  ///< from 1
  double lr = 0;
  bool adapts = true;  ///< is it a weight?
  bool decays = true;
};

inline void lars(const OptimizerSpec& spec, const TensorStep& how, std::span<const float> gradient,
                 std::span<Parameter> tensor) {
  double weights = 0;
  double gradients = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    weights += tensor[i].value * tensor[i].value;
    gradients += double{gradient[i]} * double{gradient[i]};
  }
  const double ratio = how.adapts ? trust_ratio(spec, 1, weights, gradients) : 1;
  const double decay = how.decays ? spec.weight_decay : 0;
  OptimizerSpec plain = spec;
  plain.weight_decay = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i)
    sgd(plain, how.step, how.lr, ratio * (gradient[i] + decay * tensor[i].value), tensor[i]);
}

inline void lamb(const OptimizerSpec& spec, const TensorStep& how, std::span<const float> gradient,
                 std::span<Parameter> tensor) {
  const double decay = how.decays ? spec.weight_decay : 0;
  const auto direction = [&](const Parameter& p) {
    const double mean = p.exp_avg / (1 - std::pow(spec.beta1, how.step));
    const double square = p.exp_avg_sq / (1 - std::pow(spec.beta2, how.step));
    return mean / (std::sqrt(square) + spec.eps) + decay * p.value;
  };
  double weights = 0;
  double directions = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    Parameter& p = tensor[i];
    const double g = gradient[i];
    p.exp_avg = spec.beta1 * p.exp_avg + (1 - spec.beta1) * g;
    p.exp_avg_sq = spec.beta2 * p.exp_avg_sq + (1 - spec.beta2) * g * g;
    weights += p.value * p.value;
    directions += direction(p) * direction(p);
  }
  const double ratio = how.adapts ? trust_ratio(spec, 1, weights, directions) : 1;
  for (Parameter& p : tensor) p.value -= how.lr * ratio * direction(p);
}

}  // namespace quern::reference

// SPDX-License-Identifier: Apache-2.0
// What the losses of regressions make of the error e = x - t of one number: its cost, and
// kFactor * slope, the derivative of the cost (torch.nn.MSELoss, L1Loss, HuberLoss).
//   mse    e^2                                                       2 e
//   l1     |e|                                                       sign(e), 0 at 0
//   huber  e^2 / 2 where |e| <= delta, else delta (|e| - delta / 2)  e, cut to +-delta
// The cost is written with the slope s, which spares choices: s e, and for huber s (e - s / 2).
#pragma once

#include "base/assert.hpp"
#include "spec/training_spec.hpp"
#include "tensor/types.hpp"

namespace quern {

struct SquaredError {
  static constexpr float kFactor = 2;
  KOKKOS_INLINE_FUNCTION float slope(float e) const { return e; }
  template <class T>
  KOKKOS_INLINE_FUNCTION T cost(T e, T slope) const {
    return slope * e;
  }
};

struct AbsoluteError {
  static constexpr float kFactor = 1;
  KOKKOS_INLINE_FUNCTION float slope(float e) const { return e > 0 ? 1 : (e < 0 ? -1 : e); }
  template <class T>
  KOKKOS_INLINE_FUNCTION T cost(T e, T slope) const {
    return slope * e;
  }
};

struct HuberError {
  static constexpr float kFactor = 1;
  float delta;
  KOKKOS_INLINE_FUNCTION float slope(float e) const {
    return e > delta ? delta : (e < -delta ? -delta : e);
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION T cost(T e, T slope) const {
    return slope * (e - slope * 0.5f);
  }
};

/// Calls use(error function) and returns what that does. For mse, l1 and huber.
template <class Use>
decltype(auto) with_error_function(const LossSpec& loss, const Use& use) {
  expect(loss.type == LossType::mse || loss.type == LossType::l1 || loss.type == LossType::huber,
         "the loss of a regression");
  if (loss.type == LossType::l1) return use(AbsoluteError{});
  if (loss.type == LossType::huber) return use(HuberError{static_cast<float>(loss.delta)});
  return use(SquaredError{});
}

}  // namespace quern

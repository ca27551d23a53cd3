// SPDX-License-Identifier: Apache-2.0
// What the losses of regressions make of the error e = x - t of one number: its cost, and
// kFactor * slope, the derivative of the cost (torch.nn.MSELoss, L1Loss, HuberLoss).
//   mse    e^2                                                       2 e
//   l1     |e|                                                       sign(e), 0 at 0
//   huber  e^2 / 2 where |e| <= delta, else delta (|e| - delta / 2)  e, cut to +-delta
// The cost is written with the slope s, which spares choices: s e, and for huber s (e - s / 2).
//
// This is all that a loss of a regression is to the kernels of CPUs and devices: a structure here,
// and its case of with_error_function(). Three rules:
//   - T is float, and on a CPU also the sixteen floats of simd::Vector, which have + - * only: no
//     function of <cmath>, no comparison, no if. What else a slope needs is in ErrorOperations, for
//     both.
//   - What is not a number has a slope that is none.
//   - One error and sixteen give the same bits.
#pragma once

#include <type_traits>

#include "base/error.hpp"
#include "spec/training_spec.hpp"
#include "tensor/types.hpp"

namespace quern {

/// Of one error. loss/host/regression_rows.hpp has those of sixteen.
template <class T>
struct ErrorOperations {
  static_assert(std::is_same_v<T, float>);
  /// 1, -1 or 0 by the sign of e.
  KOKKOS_INLINE_FUNCTION static T sign(T e) { return e > 0 ? 1 : (e < 0 ? -1 : e); }
  /// e, at most limit and at least -limit.
  KOKKOS_INLINE_FUNCTION static T clamp(T e, float limit) {
    return e > limit ? limit : (e < -limit ? -limit : e);
  }
};

struct SquaredError {
  static constexpr float kFactor = 2;
  template <class T>
  KOKKOS_INLINE_FUNCTION T slope(T e) const {
    return e;
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION T cost(T e, T slope) const {
    return slope * e;
  }
};

struct AbsoluteError {
  static constexpr float kFactor = 1;
  template <class T>
  KOKKOS_INLINE_FUNCTION T slope(T e) const {
    return ErrorOperations<T>::sign(e);
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION T cost(T e, T slope) const {
    return slope * e;
  }
};

struct HuberError {
  static constexpr float kFactor = 1;
  float delta;
  template <class T>
  KOKKOS_INLINE_FUNCTION T slope(T e) const {
    return ErrorOperations<T>::clamp(e, delta);
  }
  template <class T>
  KOKKOS_INLINE_FUNCTION T cost(T e, T slope) const {
    return slope * (e - slope * 0.5f);
  }
};

/// Calls use(error function) and returns what that does. Of the loss of a regression.
template <class Use>
decltype(auto) with_error_function(const LossSpec& loss, const Use& use) {
  switch (loss.type) {
    case LossType::mse:
      return use(SquaredError{});
    case LossType::l1:
      return use(AbsoluteError{});
    case LossType::huber:
      return use(HuberError{static_cast<float>(loss.delta)});
    case LossType::cross_entropy:
    case LossType::binary_cross_entropy:
    case LossType::custom:
      break;
  }
  throw Error("with_error_function: expected the loss of a regression");
}

}  // namespace quern

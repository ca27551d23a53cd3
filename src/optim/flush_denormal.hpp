// SPDX-License-Identifier: Apache-2.0
// What optimizers keep of gradients that have become zero (dead units) shrinks into denormal
// numbers, on which processors are several times slower.
#pragma once

#include "base/flush_denormals.hpp"
#include "tensor/types.hpp"

namespace quern {

/// `value`, or +0 where it is too small for a normal float. `value` must be the result of an
/// operation: where threads put out zeros by themselves (base/flush_denormals.hpp), all that is
/// left to do is to give a zero its sign.
KOKKOS_INLINE_FUNCTION float flush_denormal(float value) {
  if constexpr (kHostExecution && FlushDenormals::kWorks) {
    return value + 0.0f;
  } else {
    constexpr float kSmallest = Kokkos::Experimental::norm_min_v<float>;
    return Kokkos::abs(value) < kSmallest ? 0.0f : value;
  }
}

}  // namespace quern

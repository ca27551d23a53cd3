// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layers/normalize.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

enum class NormalizeWay { to_normal, from_normal };

/// Of an element.
struct ToNormal {
  KOKKOS_INLINE_FUNCTION static float of(float y, float mean, float std) {
    return (y - mean) / std;
  }
};
struct FromNormal {
  KOKKOS_INLINE_FUNCTION static float of(float y, float mean, float std) { return y * std + mean; }
};

/// Calls launch(label, ToNormal or FromNormal).
template <class Launch>
void with_way(NormalizeWay way, const Launch& launch) {
  if (way == NormalizeWay::to_normal)
    launch("quern::layers::normalize", ToNormal{});
  else
    launch("quern::layers::denormalize", FromNormal{});
}

using ApplyNormalization = void(const ExecSpace& exec, NormalizeWay way,
                                const Normalization& normalization,
                                const View<const std::int64_t>& sample_of_row, const Activation& y);

namespace host {
ApplyNormalization apply_normalization;
}  // namespace host
namespace device {
ApplyNormalization apply_normalization;
}  // namespace device

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "layers/normalize.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

/// The two ways of an element.
struct ToNormal {
  KOKKOS_INLINE_FUNCTION static float of(float y, float mean, float std) {
    return (y - mean) / std;
  }
};
struct FromNormal {
  KOKKOS_INLINE_FUNCTION static float of(float y, float mean, float std) { return y * std + mean; }
};

using ApplyNormalization = void(const ExecSpace& exec, const std::string& label,
                                const Normalization& normalization,
                                const View<const std::int64_t>& sample_of_row, const Activation& y);

namespace host {
ApplyNormalization normalize;
ApplyNormalization denormalize;
}  // namespace host
namespace device {
ApplyNormalization normalize;
ApplyNormalization denormalize;
}  // namespace device

}  // namespace quern

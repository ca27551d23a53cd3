// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/philox.hpp"
#include "layers/dropout.hpp"

namespace quern {

/// Values and the factors that they are multiplied by.
struct DropoutMask {
  const float* from;
  float* to;
  StepScalarsView scalars;
  View<const std::int64_t> sample_of_row;
  std::uint32_t layer;
  float probability;
  float scale;
  int units;

  static constexpr int kQuadUnits = 4;

  /// Factors of four units of a sample: scale or 0.
  KOKKOS_INLINE_FUNCTION void draw(std::int64_t sample, std::int64_t quad, float* factor,
                                   int factor_stride) const {
    const PhiloxBlock block = random_block(scalars().seed, RandomUse::dropout,
                                           DropoutCounter::stream(scalars().epoch, layer),
                                           DropoutCounter::index(sample, quad));
    for (int w = 0; w < kQuadUnits; ++w)
      factor[w * factor_stride] = uniform01(block.word[w]) >= probability ? scale : 0;
  }

  KOKKOS_INLINE_FUNCTION static float apply(float value, float factor) {
    return factor == 0 ? 0 : value * factor;
  }
};

/// Overwrites mask.to, which is laid out like `from`: mask.from with the mask applied.
using ApplyDropout = void(const ExecSpace& exec, const std::string& label, const DropoutMask& mask,
                          const Activation& from);

namespace host {
ApplyDropout apply_dropout;
}
namespace device {
ApplyDropout apply_dropout;
}

}  // namespace quern

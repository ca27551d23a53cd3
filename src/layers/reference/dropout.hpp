// SPDX-License-Identifier: Apache-2.0
// Reference implementation of layers/dropout.hpp, and the definition of which unit is kept.
#pragma once

#include <cstdint>

#include "base/philox.hpp"

namespace quern::reference {

/// Is this unit kept? Bits 0 to 9 of the stream are the layer's number, the rest the epoch; the
/// index is the sample in the upper half and the group of four units in the lower.
inline bool dropout_keeps(std::uint64_t seed, std::uint32_t epoch, std::uint32_t layer,
                          std::uint64_t sample, std::uint64_t unit, float probability) {
  const PhiloxBlock block = random_block(seed, RandomUse::dropout, epoch * 1024 + layer,
                                         sample * 0x100000000u + unit / 4);
  return uniform01(block.word[unit % 4]) >= probability;
}

}  // namespace quern::reference

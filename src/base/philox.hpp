// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10: a counter-based random number generator. The numbers depend on (key, counter)
// only, so every rank, thread and device draws the same ones without communication or state.
// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11.
#pragma once

#include <cstdint>

#include "base/macros.hpp"

namespace quern {

struct PhiloxBlock {
  std::uint32_t word[4];
};

/// What a stream of random numbers is for: the top word of the counter, so that no two uses of the
/// same seed ever share numbers.
enum class RandomUse : std::uint32_t {
  weights = 1,
  shuffle = 2,
  dropout = 3,
  samples = 4,
  windows = 5,
  window_order = 6
};

QUERN_INLINE_FUNCTION PhiloxBlock philox(std::uint64_t key, PhiloxBlock counter) {
  std::uint32_t key0 = static_cast<std::uint32_t>(key);
  std::uint32_t key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * counter.word[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(product1 >> 32) ^ counter.word[1] ^ key0,
                static_cast<std::uint32_t>(product1),
                static_cast<std::uint32_t>(product0 >> 32) ^ counter.word[3] ^ key1,
                static_cast<std::uint32_t>(product0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// The numbers of draw (use, stream, index) under `seed`. `stream` separates layers or epochs.
QUERN_INLINE_FUNCTION PhiloxBlock random_block(std::uint64_t seed, RandomUse use,
                                               std::uint32_t stream, std::uint64_t index) {
  return philox(seed, {{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                        stream, static_cast<std::uint32_t>(use)}});
}

/// Uniform in [0, 1): the upper 24 bits of a word, exact in float.
QUERN_INLINE_FUNCTION float uniform01(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1.0p-24f;
}

}  // namespace quern

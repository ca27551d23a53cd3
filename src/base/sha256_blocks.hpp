// SPDX-License-Identifier: Apache-2.0
// Part of base/sha256.hpp: the compression function of SHA-256 (FIPS 180-4, section 6.2.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern {

/// Puts `count` blocks of 64 bytes into the eight words of `state`.
using Sha256Blocks = void (*)(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count);

/// In plain C++, for every processor.
void sha256_blocks_portable(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count);

/// By this processor's SHA-256 instructions; null where it has none, or Quern no code for them.
Sha256Blocks sha256_blocks_of_processor();

/// The faster of the two.
Sha256Blocks fastest_sha256_blocks();

using Sha256State = std::array<std::uint32_t, 8>;

/// What every message begins with (section 5.3.3).
inline constexpr Sha256State kSha256Start = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/// The same for several messages side by side: what one of them waits for, the others use.
struct Sha256Lanes {
  int lanes;  ///< messages
  /// Puts into each states[i] the `count` blocks from blocks[i] on.
  void (*put)(Sha256State* states, const std::uint8_t* const* blocks, std::size_t count);
};

/// What this processor has of them, the fastest first: 16 with AVX-512, two with its SHA-256
/// instructions. May be empty.
const std::vector<Sha256Lanes>& sha256_lanes_of_processor();

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Part of base/sha256.hpp: the compression function of SHA-256 (FIPS 180-4, section 6.2.2).
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern {

/// Puts `count` blocks of 64 bytes into the eight words of `state`.
using Sha256Blocks = void (*)(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count);

/// In plain C++, for every processor.
void sha256_blocks_portable(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count);

/// By this processor's SHA-256 instructions; null where it has none, or Quern no code for them.
Sha256Blocks sha256_blocks_of_processor();

/// The faster of the two.
Sha256Blocks fastest_sha256_blocks();

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// The bytes that digests are taken over, the same on every machine.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "base/sha256.hpp"

namespace quern {

// Floats and integers go into digests and files as they lie in memory.
static_assert(std::endian::native == std::endian::little,
              "Quern's files and digests are little-endian; a big-endian port must swap here");

inline void update_int64(Sha256& hash, std::int64_t value) {
  hash.update(std::as_bytes(std::span(&value, 1)));
}

/// SHA-256 of the little-endian float32 values.
inline std::string sha256_of_values(std::span<const float> values) {
  return sha256(std::as_bytes(values));
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Good files, damaged at random (seeded) places.
#pragma once

#include <random>

#include "support/idx_files.hpp"

namespace quern::test {

/// Cut off anywhere, or with one to three bytes changed.
inline Bytes damage(Bytes bytes, std::mt19937& random) {
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  if (below(4) == 0) {
    bytes.resize(below(bytes.size()));
    return bytes;
  }
  for (std::size_t flips = 1 + below(3); flips > 0; --flips) {
    const auto value = static_cast<std::uint8_t>(1 + below(255));
    bytes[below(bytes.size())] ^= value;
  }
  return bytes;
}

}  // namespace quern::test

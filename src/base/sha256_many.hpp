// SPDX-License-Identifier: Apache-2.0
// SHA-256 of many messages, several of them at the same time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/sha256_blocks.hpp"

namespace quern {

/// A message in two parts, which need not lie beside each other.
struct Sha256Message {
  std::span<const std::byte> head;
  std::span<const std::byte> tail;
};

/// The digest of each message, as Sha256::hex_digest() has it. Neighbours whose parts have the same
/// lengths are computed side by side, as far as `ways` (as of sha256_lanes_of_processor()) go.
std::vector<std::string> sha256_of_each(
    std::span<const Sha256Message> messages,
    std::span<const Sha256Lanes> ways = sha256_lanes_of_processor());

}  // namespace quern

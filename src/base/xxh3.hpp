// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace quern {

/// XXH3 of 128 bits (xxHash 0.8) of the two parts, one after the other, as 32 lower-case
/// hexadecimal digits. It finds damage as surely as SHA-256 does, at the rate of memory, but is no
/// protection against one who makes other bytes on purpose.
std::string xxh3_128(std::span<const std::byte> head, std::span<const std::byte> tail = {});

}  // namespace quern

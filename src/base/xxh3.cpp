// SPDX-License-Identifier: Apache-2.0
#include "base/xxh3.hpp"

// The whole library, compiled for this processor.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace quern {

namespace {

XXH128_hash_t hash_of(std::span<const std::byte> head, std::span<const std::byte> tail) {
  if (tail.empty()) return XXH3_128bits(head.data(), head.size());
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, head.data(), head.size());
  XXH3_128bits_update(&state, tail.data(), tail.size());
  return XXH3_128bits_digest(&state);
}

}  // namespace

std::string xxh3_128(std::span<const std::byte> head, std::span<const std::byte> tail) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash_of(head, tail));
  std::string digits;
  for (const unsigned char byte : bytes.digest) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

}  // namespace quern

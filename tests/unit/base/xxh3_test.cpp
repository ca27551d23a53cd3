// SPDX-License-Identifier: Apache-2.0
#include "base/xxh3.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quern {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Expected values: Python's xxhash 3.2.0, xxhash.xxh3_128(text).hexdigest().
TEST(Xxh3, KnownAnswers) {
  EXPECT_EQ(xxh3_128({}), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(xxh3_128(bytes_of("abc")), "06b05ab6733a618578af5f94892f3950");
}

// data = bytes(i * i // 7 % 256 for i in range(20000))
std::string data() {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += static_cast<char>(i * i / 7 % 256);
  return text;
}

// xxh(''.join(xxh(data[n % 5:n % 5 + n]) for n in range(0, 3000, 7)).encode()): lengths of every
// algorithm that XXH3 has for short ones.
TEST(Xxh3, OddLengthsAndPlacesInMemory) {
  const std::string text = data();
  std::string digests;
  for (std::size_t n = 0; n < 3000; n += 7) digests += xxh3_128(bytes_of(text).subspan(n % 5, n));
  EXPECT_EQ(xxh3_128(bytes_of(digests)), "59244865d4264af4a40ff7974233ed13");
}

TEST(Xxh3, PartsGiveTheSameAsTheWhole) {
  const std::string text = data();
  const auto whole = bytes_of(text).first(16384);
  EXPECT_EQ(xxh3_128(whole), "31245895c85b35dc45486dd114ea953b");
  for (const std::size_t head : {0u, 1u, 63u, 240u, 241u, 1000u, 16383u, 16384u})
    EXPECT_EQ(xxh3_128(whole.first(head), whole.subspan(head)), xxh3_128(whole)) << head;
}

}  // namespace
}  // namespace quern

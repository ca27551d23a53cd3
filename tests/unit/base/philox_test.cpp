// SPDX-License-Identifier: Apache-2.0
#include "base/philox.hpp"

#include <gtest/gtest.h>

namespace quern {
namespace {

// Known answers of the generator's authors (Random123, kat_vectors, philox4x32-10).
TEST(Philox, KnownAnswers) {
  struct Answer {
    std::uint64_t key;
    PhiloxBlock counter;
    PhiloxBlock numbers;
  };
  const std::uint32_t ones = 0xffffffffu;
  const Answer answers[] = {{0, {{0, 0, 0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
                            {~std::uint64_t{0},
                             {{ones, ones, ones, ones}},
                             {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
                            // Digits of pi: the one that tells the words of counter and key apart.
                            // key[0] is the lower half.
                            {0x299f31d0a4093822,
                             {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
                             {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}};
  for (const Answer& answer : answers) {
    const PhiloxBlock numbers = philox(answer.key, answer.counter);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(numbers.word[i], answer.numbers.word[i]) << i;
  }
}

TEST(Philox, UsesAndStreamsDoNotShareNumbers) {
  const auto first = [](RandomUse use, std::uint32_t stream) {
    return random_block(7, use, stream, 0).word[0];
  };
  EXPECT_NE(first(RandomUse::weights, 0), first(RandomUse::dropout, 0));
  EXPECT_NE(first(RandomUse::weights, 0), first(RandomUse::weights, 1));
}

TEST(Philox, UniformStaysBelowOne) {
  EXPECT_EQ(uniform01(0), 0.0f);
  EXPECT_LT(uniform01(0xffffffffu), 1.0f);
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "base/philox.hpp"

#include <gtest/gtest.h>

namespace quern {
namespace {

// Known answers of the generator's authors (Random123, kat_vectors, philox4x32-10).
TEST(Philox, KnownAnswers) {
  const PhiloxBlock zero = philox(0, {{0, 0, 0, 0}});
  EXPECT_EQ(zero.word[0], 0x6627e8d5u);
  EXPECT_EQ(zero.word[1], 0xe169c58du);
  EXPECT_EQ(zero.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.word[3], 0x9b00dbd8u);
  const PhiloxBlock ones =
      philox(0xffffffffffffffffu, {{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}});
  EXPECT_EQ(ones.word[0], 0x408f276du);
  EXPECT_EQ(ones.word[1], 0x41c83b0eu);
  EXPECT_EQ(ones.word[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.word[3], 0x6d5451fdu);
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

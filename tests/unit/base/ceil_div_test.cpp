// SPDX-License-Identifier: Apache-2.0
#include "base/ceil_div.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace quern {
namespace {

TEST(CeilDiv, RoundsUp) {
  EXPECT_EQ(ceil_div(0, 4), 0);
  EXPECT_EQ(ceil_div(1, 4), 1);
  EXPECT_EQ(ceil_div(4, 4), 1);
  EXPECT_EQ(ceil_div(5, 4), 2);
  EXPECT_EQ(ceil_div(5, 1), 5);
}

TEST(CeilDiv, ComputesInTheWiderType) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  EXPECT_EQ(ceil_div(kMany + 1, 2), kMany / 2 + 1);
  EXPECT_EQ(ceil_div(3, kMany), 1);
  static_assert(std::is_same_v<decltype(ceil_div(1, 1)), int>);
  static_assert(std::is_same_v<decltype(ceil_div(1, kMany)), std::int64_t>);
  static_assert(ceil_div(17, 16) == 2 && round_up(17, 16) == 32);
}

TEST(RoundUp, GivesTheNextMultiple) {
  EXPECT_EQ(round_up(0, 16), 0);
  EXPECT_EQ(round_up(1, 16), 16);
  EXPECT_EQ(round_up(16, 16), 16);
  EXPECT_EQ(round_up(std::int64_t{1000}, 3), 1002);
}

}  // namespace
}  // namespace quern

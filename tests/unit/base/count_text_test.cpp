// SPDX-License-Identifier: Apache-2.0
#include "base/count_text.hpp"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(CountText, HasTheFormOfTheNumber) {
  EXPECT_EQ(count_text(0, "rank"), "0 ranks");
  EXPECT_EQ(count_text(1, "class"), "1 class");
  EXPECT_EQ(count_text(2, "process"), "2 processes");
  EXPECT_EQ(count_text(2, "micro-batch"), "2 micro-batches");
  EXPECT_EQ(count_text(2, "epoch"), "2 epochs");
  EXPECT_EQ(count_text(1, "rank"), "1 rank");
  EXPECT_EQ(count_text(2, "rank"), "2 ranks");
}

}  // namespace
}  // namespace quern

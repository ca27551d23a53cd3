// SPDX-License-Identifier: Apache-2.0
#include "base/bytes_text.hpp"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(BytesText, TakesTheLargestUnitThatFits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(5), "5 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text((1 << 20) - 1024), "1023.0 KiB");
  EXPECT_EQ(bytes_text(1 << 20), "1.0 MiB");
  EXPECT_EQ(bytes_text(std::int64_t{1} << 30), "1.0 GiB");
  EXPECT_EQ(bytes_text(std::int64_t{3000} << 30), "3000.0 GiB");
}

}  // namespace
}  // namespace quern

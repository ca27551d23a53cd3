// SPDX-License-Identifier: Apache-2.0
#include "base/unit_text.hpp"

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
  EXPECT_EQ(bytes_text((1 << 20) - 52), "1023.9 KiB");
  EXPECT_EQ(bytes_text((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(bytes_text(1 << 20), "1.0 MiB");
  EXPECT_EQ(bytes_text((1 << 30) - 1), "1.0 GiB");
  EXPECT_EQ(bytes_text(std::int64_t{1} << 30), "1.0 GiB");
  EXPECT_EQ(bytes_text(std::int64_t{3000} << 30), "3000.0 GiB");
}

TEST(GroupedText, SeparatesThousands) {
  EXPECT_EQ(grouped_text(0), "0");
  EXPECT_EQ(grouped_text(999), "999");
  EXPECT_EQ(grouped_text(1000), "1 000");
  EXPECT_EQ(grouped_text(25557032), "25 557 032");
}

TEST(ScaledText, HasThreeDigitsAndALetter) {
  EXPECT_EQ(scaled_text(7), "7 ");
  EXPECT_EQ(scaled_text(999), "999 ");
  EXPECT_EQ(scaled_text(1000), "1.00 k");
  EXPECT_EQ(scaled_text(4.094e6), "4.09 M");
  EXPECT_EQ(scaled_text(99.96e9), "100 G");
  EXPECT_EQ(scaled_text(1.5e16), "15000 T");
}

TEST(TimeText, HasThreeDigits) {
  EXPECT_EQ(time_text(1.5e-9), "0.00 us");
  EXPECT_EQ(time_text(2.345e-6), "2.35 us");
  EXPECT_EQ(time_text(23.45e-6), "23.4 us");
  EXPECT_EQ(time_text(999.4e-6), "999 us");
  EXPECT_EQ(time_text(999.6e-6), "1.00 ms");
  EXPECT_EQ(time_text(2.0), "2.00 s");
}

TEST(RateText, HasThreeDigitsInPowersOfThousand) {
  EXPECT_EQ(rate_text(12.34e9), "12.3 GB/s");
  EXPECT_EQ(rate_text(0.9999e9), "1.00 GB/s");
  EXPECT_EQ(rate_text(52.14e6), "52.1 MB/s");
  EXPECT_EQ(rate_text(1.5e3), "1.50 kB/s");
}

}  // namespace
}  // namespace quern

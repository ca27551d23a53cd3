// SPDX-License-Identifier: Apache-2.0
#include "linalg/rounding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/activation_io.hpp"
#include "support/random_values.hpp"

namespace quern {
namespace {

TEST(Tf32, RoundsToTenBits) {
  EXPECT_EQ(to_tf32(1.0f), 1.0f);
  const float step = std::ldexp(1.0f, -10);
  EXPECT_EQ(to_tf32(1.0f + step), 1.0f + step);
  EXPECT_EQ(to_tf32(1.0f + 0.49f * step), 1.0f);
  EXPECT_EQ(to_tf32(1.0f + 0.5f * step), 1.0f + step);  // ties away from zero
  EXPECT_EQ(to_tf32(-1.0f - 0.5f * step), -1.0f - step);
  EXPECT_EQ(to_tf32(std::nextafter(2.0f, 0.0f)), 2.0f);
  EXPECT_EQ(to_tf32(0.0f), 0.0f);
  EXPECT_EQ(to_tf32(std::numeric_limits<float>::infinity()),
            std::numeric_limits<float>::infinity());
  // With all bits of the mantissa set, which rounding would carry away.
  EXPECT_TRUE(std::isnan(to_tf32(Kokkos::bit_cast<float>(0x7FFFFFFFu))));
  EXPECT_TRUE(std::isnan(to_tf32(Kokkos::bit_cast<float>(0xFFFFFFFFu))));
}

TEST(Bfloat16, KeepsWhatItCanHold) {
  for (const float value :
       {0.0f, -0.0f, 1.0f, -1.5f, 0x1.fep127f, 0x1p-126f, 0x1p-133f,
        std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(from_bfloat16(to_bfloat16(value)), value) << value;
    EXPECT_EQ(std::signbit(from_bfloat16(to_bfloat16(value))), std::signbit(value)) << value;
  }
}

TEST(Bfloat16, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(from_bfloat16(to_bfloat16(0x1.00fp0f)), 0x1.00p0f);  // below the middle of 1 and 1.02
  EXPECT_EQ(from_bfloat16(to_bfloat16(0x1.01p0f)), 0x1.00p0f);   // the middle: 1.00 is even
  EXPECT_EQ(from_bfloat16(to_bfloat16(0x1.010002p0f)), 0x1.02p0f);
  EXPECT_EQ(from_bfloat16(to_bfloat16(0x1.03p0f)), 0x1.04p0f);  // the middle: 1.04 is even
  EXPECT_EQ(from_bfloat16(to_bfloat16(-0x1.03p0f)), -0x1.04p0f);
  EXPECT_EQ(from_bfloat16(to_bfloat16(std::numeric_limits<float>::max())),
            std::numeric_limits<float>::infinity());
}

TEST(Bfloat16, NeverMakesANumberOfWhatIsNone) {
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
  // A signalling NaN whose bits are all below those that are kept.
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(Kokkos::bit_cast<float>(0x7F800001u)))));
}

TEST(Bfloat16, RoundsMatrices) {
  const auto values = test::random_values(5 * 19, 1);
  const FloatView from = test::make_view(values);
  const View<std::uint16_t> to("quern::test::bfloat16", values.size());
  round_to_bfloat16(ExecSpace(), {from.data(), 5, 17, 19}, to);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), to);
  for (std::size_t i = 0; i < 4 * 19 + 17; ++i) EXPECT_EQ(host(i), to_bfloat16(values[i])) << i;
  EXPECT_EQ(host(4 * 19 + 17), 0);
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// What compilers are known to get wrong, with the flags of this build.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace quern {
namespace {

constexpr const char* kAdvice =
    "This compiler fills local arrays wrongly with these flags: take another one, or for GCC 12 "
    "with AVX-512 the "
    "flag -mstore-max=128, which cmake/QuernTarget.cmake adds";

[[gnu::noinline]] int byte_of_32(int i) {
  const std::uint8_t bytes[32] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8};
  return bytes[i];
}

[[gnu::noinline]] int byte_of_64(int i) {
  const std::uint8_t bytes[64] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};
  return bytes[i];
}

[[gnu::noinline]] int byte_of_array(int i) {
  const std::array<std::uint8_t, 32> bytes = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
  return bytes[i];
}

[[gnu::noinline]] int byte_of_text(int i) {
  const char text[32] = "aaaaaaaaaaaaaaaa";
  return text[i];
}

TEST(Compiler, TheRestOfALocalArrayIsZero) {
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(byte_of_32(i), 8);
    EXPECT_EQ(byte_of_64(i), 9);
    EXPECT_EQ(byte_of_array(i), 7);
    EXPECT_EQ(byte_of_text(i), 'a');
  }
  for (int i = 16; i < 32; ++i) {
    ASSERT_EQ(byte_of_32(i), 0) << kAdvice;
    ASSERT_EQ(byte_of_array(i), 0) << kAdvice;
    ASSERT_EQ(byte_of_text(i), 0) << kAdvice;
  }
  for (int i = 16; i < 64; ++i) ASSERT_EQ(byte_of_64(i), 0) << kAdvice;
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// What tests of bits ask first: a build for processors without fused multiply-add (the preset
// portable, before it chooses a program) has bits of its own, which differ from those of a
// reference that fuses and of the device's kernels.
#pragma once

#include <gtest/gtest.h>

namespace quern::test {

#if defined(__FMA__) || defined(__aarch64__)
inline constexpr bool kFusedProducts = true;
#else
inline constexpr bool kFusedProducts = false;
#endif

}  // namespace quern::test

/// Leaves the test.
#define QUERN_SKIP_WITHOUT_FUSED_PRODUCTS() \
  if (!::quern::test::kFusedProducts) GTEST_SKIP() << "compiled without fused multiply-add"

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include "base/flush_denormals.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const quern::FlushDenormals as_in_programs;  // runtime/ranks.hpp
  Kokkos::ScopeGuard kokkos(argc, argv);
  return RUN_ALL_TESTS();
}

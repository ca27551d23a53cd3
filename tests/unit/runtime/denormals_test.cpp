// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "runtime/ranks.hpp"

namespace quern {
namespace {

constexpr int kThreads = 3;

/// By its bits: a comparison of floats may take a denormal for zero.
bool has_denormals() {
  volatile float smallest = std::numeric_limits<float>::min();
  return std::bit_cast<std::uint32_t>(smallest / 2) != 0;
}

int kernel_threads_with_denormals() {
  const Kokkos::DefaultHostExecutionSpace host;
  int count = 0;
  Kokkos::parallel_reduce(
      "test::threads_with_denormals",
      Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(host, 0, host.concurrency()),
      [](int, int& found) { found += has_denormals(); }, count);
  return count;
}

/// A program may have used OpenMP before: its threads run already.
int openmp_threads_with_denormals() {
  int count = 0;
#if defined(_OPENMP)
#pragma omp parallel num_threads(kThreads) reduction(+ : count)
#endif
  count += has_denormals();
  return count;
}

TEST(Denormals, AreZerosOnAllThreadsOfKernels) {
  ASSERT_EQ(setenv("OMP_NUM_THREADS", std::to_string(kThreads).c_str(), 1), 0);
  EXPECT_GT(openmp_threads_with_denormals(), 0);
  const ExitCode code = run_on_ranks([](Communicator&) {
    EXPECT_FALSE(has_denormals());
    EXPECT_EQ(kernel_threads_with_denormals(), 0);
    return ExitCode::done;
  });
  EXPECT_EQ(code, ExitCode::done);
  EXPECT_TRUE(has_denormals()) << "of the caller, after the run";
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "bench/kernel_profile.hpp"

#include <gtest/gtest.h>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include "tensor/types.hpp"

namespace quern {
namespace {

void run_kernel(const char* label) {
  const FloatView view("test::view", 4);
  Kokkos::parallel_for(
      label, RangePolicy(ExecSpace(), 0, 4), KOKKOS_LAMBDA(std::int64_t i) { view(i) = 1; });
}

void run_step() {
  {
    const Kokkos::Profiling::ScopedRegion region("test::fc1");
    run_kernel("test::forward");
    run_kernel("test::relu");
  }
  const Kokkos::Profiling::ScopedRegion region("test::fc2");
  run_kernel("test::forward");
  run_kernel("test::forward");
}

std::vector<std::string> names(const std::vector<KernelTime>& times) {
  std::vector<std::string> names;
  for (const KernelTime& time : times) {
    if (time.kernel.rfind("test::", 0) != 0) continue;  // Kokkos' own
    names.push_back(time.region + " " + time.kernel + " " + std::to_string(time.calls));
  }
  return names;
}

TEST(KernelProfile, CountsKernelsByRegionInTheirOrder) {
  KernelProfile profile;
  for (int step = 0; step < 3; ++step) run_step();
  run_kernel("test::update");
  const std::vector<std::string> expected = {"test::fc1 test::forward 3", "test::fc1 test::relu 3",
                                             "test::fc2 test::forward 6", " test::update 1"};
  const std::vector<KernelTime> times = profile.take();
  EXPECT_EQ(names(times), expected);
  for (const KernelTime& time : times) EXPECT_GE(time.seconds, 0);
}

TEST(KernelProfile, StartsAnewAfterEveryTake) {
  KernelProfile profile;
  run_step();
  profile.take();
  run_kernel("test::update");
  EXPECT_EQ(names(profile.take()), std::vector<std::string>{" test::update 1"});
  EXPECT_TRUE(profile.take().empty());
}

int g_heard = 0;

TEST(KernelProfile, GivesWayToTheToolThatWasThere) {
  namespace tools = Kokkos::Tools::Experimental;
  g_heard = 0;
  tools::set_begin_parallel_for_callback(
      [](const char*, std::uint32_t, std::uint64_t*) { ++g_heard; });
  {
    KernelProfile profile;
    run_kernel("test::profiled");
    EXPECT_EQ(g_heard, 0);
  }
  run_kernel("test::after");
  tools::set_begin_parallel_for_callback(nullptr);
  EXPECT_GE(g_heard, 1);
}

}  // namespace
}  // namespace quern

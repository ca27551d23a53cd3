// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu_mask.hpp"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace {

constexpr std::size_t kLargeMask = 1024;  // bytes: a kernel for 8192 processors
bool system_is_large = false;

}  // namespace

// In place of the C library's: no machine of the tests has more than 1024 processors.
extern "C" int sched_getaffinity(pid_t pid, std::size_t bytes, cpu_set_t* mask) noexcept {
  if (!system_is_large) {
    std::fill_n(reinterpret_cast<char*>(mask), bytes, '\0');
    return syscall(SYS_sched_getaffinity, pid, bytes, mask) < 0 ? -1 : 0;
  }
  if (bytes < kLargeMask) {
    errno = EINVAL;
    return -1;
  }
  std::fill_n(reinterpret_cast<char*>(mask), bytes, '\0');
  for (const int cpu : {3, 1024, 8191})
    reinterpret_cast<unsigned long*>(mask)[cpu / 64] |= 1UL << cpu % 64;
  return 0;
}

namespace quern {
namespace {

using ::testing::ElementsAre;

TEST(CpuMask, ListsAreShort) {
  EXPECT_EQ(cpu_list_text({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(cpu_list_text({1, 3}), "1,3");
  EXPECT_EQ(cpu_list_text({}), "-");
}

TEST(CpuMask, RestrictingIsSeen) {
  const std::vector<int> all = allowed_cpus();
  ASSERT_FALSE(all.empty());
  std::vector<int> seen;
  // In a thread of its own: the rest of this test program keeps its processors.
  std::thread([&] {
    EXPECT_TRUE(restrict_to_cpus({all.back()}));
    seen = allowed_cpus();
  }).join();
  EXPECT_THAT(seen, ElementsAre(all.back()));
  EXPECT_FALSE(restrict_to_cpus({}));
  EXPECT_FALSE(restrict_to_cpus({1 << 14})) << "beyond a cpu_set_t, and beyond any Linux";
}

TEST(CpuMask, OfALargeSystemIsReadWhole) {
  system_is_large = true;
  const std::vector<int> cpus = allowed_cpus();
  system_is_large = false;
  EXPECT_THAT(cpus, ElementsAre(3, 1024, 8191));
}

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "base/large_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace quern {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Are large pages asked for at this address? "hg" among the flags that the system prints.
bool is_asked_for(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) is_here = begin <= at && at < end;
    if (is_here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  ADD_FAILURE() << "no mapping holds " << address;
  return false;
}

bool system_has_large_pages() {
  return std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good();
}

TEST(LargePages, ArePreferredForWholePagesOnly) {
  if (!system_has_large_pages()) GTEST_SKIP() << "the system has no large pages";
  const std::size_t bytes = 8 * kMiB;
  void* const mapping =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapping, MAP_FAILED);
  auto* const begin = static_cast<char*>(mapping);
  const auto page = 2 * kMiB;
  char* const first = begin + (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  prefer_large_pages(first, 2 * kMiB - 1);
  EXPECT_FALSE(is_asked_for(first)) << "less than a page";
  prefer_large_pages(first + 1, 4 * kMiB - 1);
  EXPECT_FALSE(is_asked_for(first));
  EXPECT_TRUE(is_asked_for(first + 2 * kMiB));
  EXPECT_TRUE(is_asked_for(first + 4 * kMiB - 1));
  EXPECT_FALSE(is_asked_for(first + 4 * kMiB));
  munmap(mapping, bytes);
}

#if defined(__GLIBC__)
TEST(LargePages, HoldTheArraysOfNetworks) {
  if (!system_has_large_pages()) GTEST_SKIP() << "the system has no large pages";
  use_large_pages_for_arrays();
  std::vector<std::unique_ptr<char[]>> arrays;
  for (int i = 0; i < 32; ++i) arrays.emplace_back(new char[kMiB]);
  int count = 0;
  for (const auto& array : arrays) count += is_asked_for(array.get() + kMiB / 2);
  EXPECT_GE(count, 29) << "all but those in front of the first whole page";
}
#endif

}  // namespace
}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "bench/cache_sizes.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace quern {
namespace {

struct Cache {
  std::string level, type, size, shared;
};

// What Linux says of each processor that this process may run on.
void write_caches(const std::filesystem::path& folder,
                  std::vector<Cache> (*caches_of)(const std::string& processor)) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  for (int id = 0; id < CPU_SETSIZE; ++id) {
    if (!CPU_ISSET(id, &mask)) continue;
    int index = 0;
    for (const Cache& cache : caches_of(std::to_string(id))) {
      const auto place =
          folder / ("cpu" + std::to_string(id)) / "cache" / ("index" + std::to_string(index++));
      std::filesystem::create_directories(place);
      std::ofstream(place / "level") << cache.level << '\n';
      std::ofstream(place / "type") << cache.type << '\n';
      std::ofstream(place / "size") << cache.size << '\n';
      std::ofstream(place / "shared_cpu_list") << cache.shared << '\n';
    }
  }
}

TEST(CacheSizes, AreThoseOfDataAsLinuxTellsThem) {
  const test::TempDir folder;
  write_caches(folder.path(), [](const std::string& id) {
    return std::vector<Cache>{{"1", "Data", "48K", id},
                              {"1", "Instruction", "64K", id},
                              {"2", "Unified", "2048K", id},
                              {"3", "Unified", "32M", "all"},
                              {"4", "Unified", "64M", "all"}};
  });
  const CacheSizes sizes = cache_sizes(1, folder.path());
  EXPECT_EQ(sizes.l1, 48 << 10);
  EXPECT_EQ(sizes.l2, 2 << 20);
  EXPECT_EQ(sizes.l3, 32 << 20);
  EXPECT_EQ(cache_sizes(7, folder.path()).l3, 32 << 20) << "one for all";
}

TEST(CacheSizes, AreUsualOnesWhereLinuxSaysNothing) {
  const test::TempDir folder;
  const CacheSizes sizes = cache_sizes(3, folder.path());
  EXPECT_EQ(sizes.l1, 3 * (32 << 10));
  EXPECT_EQ(sizes.l2, 3 * (1 << 20));
  EXPECT_EQ(sizes.l3, 32 << 20);
}

TEST(CacheSizes, GrowWithTheThreadsUpToWhatThereIs) {
  const CacheSizes one = cache_sizes(1);
  const CacheSizes many = cache_sizes(1 << 20);
  EXPECT_GE(one.l1, 4 << 10);
  EXPECT_GE(one.l2, 16 << 10);
  EXPECT_GE(one.l3, 256 << 10);
  EXPECT_GE(many.l1, one.l1);
  EXPECT_GE(many.l2, one.l2);
  EXPECT_GE(many.l3, one.l3);
  EXPECT_EQ(many.l2 % one.l2, 0);
}

}  // namespace
}  // namespace quern

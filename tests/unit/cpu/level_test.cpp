// SPDX-License-Identifier: Apache-2.0
#include "cpu/level.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace quern::cpu {
namespace {

TEST(CpuLevel, NamesAreReadBack) {
  for (const Level level :
       {Level::x86_64, Level::avx2, Level::avx512, Level::neon, Level::generic}) {
    EXPECT_EQ(level_named(name_of(level)), level);
  }
  EXPECT_FALSE(level_named("AVX2"));
  EXPECT_FALSE(level_named(""));
}

TEST(CpuLevel, EachRunsItselfAndWhatIsOlder) {
  EXPECT_TRUE(runs_on(Level::x86_64, Level::avx512));
  EXPECT_TRUE(runs_on(Level::avx2, Level::avx512));
  EXPECT_TRUE(runs_on(Level::avx512, Level::avx512));
  EXPECT_FALSE(runs_on(Level::avx512, Level::avx2));
  EXPECT_FALSE(runs_on(Level::avx2, Level::x86_64));
  EXPECT_FALSE(runs_on(Level::neon, Level::avx512));
  EXPECT_FALSE(runs_on(Level::x86_64, Level::neon));
}

// The system's own list of what the processor can do.
TEST(CpuLevel, OfThisMachineIsWhatTheSystemSays) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0) {
  }
  if (line.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const auto has = [&](const std::string& flag) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word == flag) return true;
    }
    return false;
  };
  const bool avx2 = has("avx2") && has("fma") && has("bmi1") && has("bmi2");
  const bool avx512 = avx2 && has("avx512f") && has("avx512bw") && has("avx512cd") &&
                      has("avx512dq") && has("avx512vl");
  EXPECT_EQ(machine_level(), avx512 ? Level::avx512 : avx2 ? Level::avx2 : Level::x86_64);
}

TEST(CpuLevel, ThisTestRunsHere) {
  EXPECT_TRUE(runs_on(compiled_level(), machine_level()));
}

}  // namespace
}  // namespace quern::cpu

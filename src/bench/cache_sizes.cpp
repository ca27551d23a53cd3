// SPDX-License-Identifier: Apache-2.0
#include "bench/cache_sizes.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <string>

namespace quern {

namespace {

std::string first_word(const std::string& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

// "1024K", "32M"; 0 when it is neither.
std::int64_t parse_size(const std::string& text) {
  std::size_t end = 0;
  std::int64_t size = 0;
  try {
    size = std::stoll(text, &end);
  } catch (const std::exception&) {
    return 0;
  }
  const std::string unit = text.substr(end);
  if (unit == "K") return size << 10;
  if (unit == "M") return size << 20;
  return unit.empty() ? size : 0;
}

// The instances of one level of cache: who shares them tells them apart.
struct CacheLevel {
  std::set<std::string> instances;
  std::int64_t bytes = 0;  // of one

  std::int64_t total(int threads) const {
    return bytes * std::min<std::int64_t>(threads, static_cast<std::int64_t>(instances.size()));
  }
};

using CacheLevels = std::array<CacheLevel, 3>;  // L1, L2, L3

void add_caches(const std::string& processor_folder, CacheLevels& levels) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = processor_folder + "/cache/index" + std::to_string(index) + "/";
    const std::string level = first_word(folder + "level");
    if (level.empty()) return;
    const std::size_t which = std::string("123").find(level);
    if (which == std::string::npos || first_word(folder + "type") == "Instruction") continue;
    CacheLevel& cache = levels[which];
    cache.instances.insert(first_word(folder + "shared_cpu_list"));
    cache.bytes = std::max(cache.bytes, parse_size(first_word(folder + "size")));
  }
}

}  // namespace

CacheSizes cache_sizes(int threads, const std::string& folder) {
  CacheLevels levels;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(processor, &mask))
        add_caches(folder + "/cpu" + std::to_string(processor), levels);
    }
  }
  CacheSizes sizes{levels[0].total(threads), levels[1].total(threads), levels[2].total(threads)};
  if (sizes.l1 == 0) sizes.l1 = std::int64_t{threads} << 15;
  if (sizes.l2 == 0) sizes.l2 = std::int64_t{threads} << 20;
  if (sizes.l3 == 0) sizes.l3 = std::int64_t{32} << 20;
  return sizes;
}

}  // namespace quern

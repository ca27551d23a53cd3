// SPDX-License-Identifier: Apache-2.0
#include "bench/cache_sizes.hpp"

#include <sched.h>

#include <algorithm>
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

void add_caches(int processor, CacheLevel& l2, CacheLevel& l3) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(processor) +
                               "/cache/index" + std::to_string(index) + "/";
    const std::string level = first_word(folder + "level");
    if (level.empty()) return;
    if (level != "2" && level != "3") continue;
    CacheLevel& cache = level == "2" ? l2 : l3;
    cache.instances.insert(first_word(folder + "shared_cpu_list"));
    cache.bytes = std::max(cache.bytes, parse_size(first_word(folder + "size")));
  }
}

}  // namespace

CacheSizes cache_sizes(int threads) {
  CacheLevel l2;
  CacheLevel l3;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(processor, &mask)) add_caches(processor, l2, l3);
    }
  }
  CacheSizes sizes{l2.total(threads), l3.total(threads)};
  if (sizes.l2 == 0) sizes.l2 = std::int64_t{threads} << 20;
  if (sizes.l3 == 0) sizes.l3 = std::int64_t{32} << 20;
  return sizes;
}

}  // namespace quern

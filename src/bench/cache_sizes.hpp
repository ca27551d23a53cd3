// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace quern {

/// Bytes of cache that a number of threads have to themselves, all instances together.
struct CacheSizes {
  std::int64_t l1 = 0;  ///< of data
  std::int64_t l2 = 0;
  std::int64_t l3 = 0;
};

/// Of the processors this process may run on, when `threads` of them are used: at most one instance
/// per thread. From Linux' /sys; 32 KB of L1 and 1 MB of L2 per thread and 32 MB of L3 where that
/// says nothing.
CacheSizes cache_sizes(int threads, const std::string& folder = "/sys/devices/system/cpu");

}  // namespace quern

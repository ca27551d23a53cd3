// SPDX-License-Identifier: Apache-2.0
#include "comm/communicator.hpp"

#include <numeric>

namespace quern {

std::vector<int> Communicator::roll_call(std::chrono::milliseconds /*most*/) {
  barrier();
  return {};
}

void Communicator::gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                            std::span<const std::int64_t> counts) {
  if (rank() == 0) return all_gather_v(mine, all, counts);
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<std::byte> unread(static_cast<std::size_t>(total));
  all_gather_v(mine, unread, counts);
}

}  // namespace quern

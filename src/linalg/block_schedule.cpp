// SPDX-License-Identifier: Apache-2.0
#include "linalg/block_schedule.hpp"

#include "base/assert.hpp"

namespace quern {

BlockSchedule make_block_schedule(int first, int last, int total, int block_slots) {
  const BlockTree::Walk walk = BlockTree(total).walk_blocks(first, last);
  expect(walk.depth <= BlockSchedule::kMaxDepth, "a summation tree of at most 2^20 - 1 blocks");
  const std::size_t count = walk.merges.size();
  View<int> merges(Kokkos::view_alloc("quern::linalg::merges", Kokkos::WithoutInitializing), count);
  Kokkos::View<int*, Kokkos::HostSpace> host(
      Kokkos::view_alloc("quern::linalg::host_merges", Kokkos::WithoutInitializing), count);
  for (std::size_t i = 0; i < count; ++i) host(i) = walk.merges[i];
  Kokkos::deep_copy(merges, host);
  BlockSchedule schedule;
  schedule.num_blocks = last - first;
  schedule.block_slots = block_slots;
  schedule.num_partials = static_cast<int>(walk.remain.size());
  schedule.depth = walk.depth;
  schedule.merges = merges;
  schedule.host_merges = host;
  return schedule;
}

}  // namespace quern

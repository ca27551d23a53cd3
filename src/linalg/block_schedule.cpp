// SPDX-License-Identifier: Apache-2.0
#include "linalg/block_schedule.hpp"

#include "base/assert.hpp"

namespace quern {

BlockSchedule make_block_schedule(int first, int last, int total, int block_rows) {
  const BlockTree::Traversal traversal = BlockTree(total).traverse_blocks(first, last);
  expect(traversal.depth <= BlockSchedule::kMaxDepth,
         "a summation tree of at most 2^20 - 1 blocks");
  const std::size_t count = traversal.merges.size();
  View<int> merges(Kokkos::view_alloc("quern::linalg::merges", Kokkos::WithoutInitializing), count);
  Kokkos::View<int*, Kokkos::HostSpace> host(
      Kokkos::view_alloc("quern::linalg::host_merges", Kokkos::WithoutInitializing), count);
  for (std::size_t i = 0; i < count; ++i) host(i) = traversal.merges[i];
  Kokkos::deep_copy(merges, host);
  BlockSchedule schedule;
  schedule.num_blocks = last - first;
  schedule.block_rows = block_rows;
  schedule.num_partial_sums = static_cast<int>(traversal.roots.size());
  schedule.depth = traversal.depth;
  schedule.merges = merges;
  schedule.host_merges = host;
  return schedule;
}

}  // namespace quern

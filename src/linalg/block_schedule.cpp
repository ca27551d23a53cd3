// SPDX-License-Identifier: Apache-2.0
#include "linalg/block_schedule.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"

namespace quern {

int BlockSchedule::samples_of_group(int group) const {
  const int row = group * kLanes;
  const int samples = row / block_rows + 1 == num_blocks ? last_samples : block_samples;
  return std::clamp(samples - row % block_rows, 0, kLanes);
}

int BlockSchedule::first_group_of_few(int most) const {
  int first = rows() / kLanes;
  while (first > 0 && samples_of_group(first - 1) <= most) --first;
  return first;
}

namespace {

Kokkos::View<const int*, Kokkos::HostSpace> blocks_of_partial_sums(const std::vector<int>& merges) {
  std::vector<int> blocks;
  for (const int merge : merges) {
    int added = 1;
    for (int i = 0; i < merge; ++i) {
      added += blocks.back();
      blocks.pop_back();
    }
    blocks.push_back(added);
  }
  Kokkos::View<int*, Kokkos::HostSpace> view("quern::linalg::partial_sum_blocks", blocks.size());
  std::copy(blocks.begin(), blocks.end(), view.data());
  return view;
}

}  // namespace

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
  schedule.block_samples = block_rows;
  schedule.last_samples = block_rows;
  schedule.num_partial_sums = static_cast<int>(traversal.roots.size());
  schedule.depth = traversal.depth;
  schedule.merges = merges;
  schedule.host_merges = host;
  schedule.partial_sum_blocks = blocks_of_partial_sums(traversal.merges);
  return schedule;
}

// Two sums of each height, on both sides of the highest.
int most_depth(int blocks) {
  return 2 * std::bit_width(static_cast<unsigned>(blocks));
}

}  // namespace quern

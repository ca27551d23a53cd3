// SPDX-License-Identifier: Apache-2.0
#include "parallel/piece_sums.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "tensor/chunks.hpp"

namespace quern {

int piece_blocks(const BatchPartition& partition, int micro_batches) {
  expect(micro_batches >= 1, "at least one piece");
  return (partition.max_blocks() - 1) / micro_batches + 1;  // micro_batches may be any int
}

std::vector<PieceSums> cut_share(SumOrder order, const BatchPartition& partition, int rank,
                                 int micro_batches) {
  const int count = partition.num_blocks(rank);
  // In the order of ranks each rank adds its blocks in a tree of its own.
  const bool is_tree = order == SumOrder::tree;
  const int first = is_tree ? partition.first_block(rank) : 0;
  const BlockTree tree(is_tree ? partition.num_blocks() : std::max(1, count));
  const int step = piece_blocks(partition, micro_batches);
  std::vector<PieceSums> pieces;
  std::vector<TreeNode> nodes;
  std::vector<std::size_t> ends;
  for (int begin = 0; begin == 0 || begin < count; begin += step) {
    PieceSums piece;
    piece.first_block = begin;
    piece.last_block = std::min(begin + step, count);
    const auto roots = tree.traverse_blocks(first + begin, first + piece.last_block).roots;
    nodes.insert(nodes.end(), roots.begin(), roots.end());
    ends.push_back(nodes.size());
    pieces.push_back(std::move(piece));
  }
  const BlockTree::Traversal traversal = tree.traverse_nodes(nodes);
  int on_stack = 0;
  std::size_t node = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].below = on_stack;
    for (; node < ends[i]; ++node) {
      pieces[i].added.push_back(traversal.merges[node]);
      on_stack += 1 - traversal.merges[node];
    }
  }
  return pieces;
}

int most_piece_sums(SumOrder order, const BatchPartition& partition, int micro_batches) {
  int most = 1;
  if (piece_blocks(partition, micro_batches) == partition.max_blocks()) return most;
  for (int rank = 0; rank < partition.num_ranks(); ++rank) {
    if (partition.num_blocks(rank) == 0) break;
    for (const PieceSums& piece : cut_share(order, partition, rank, micro_batches))
      most = std::max(most, piece.below + static_cast<int>(piece.added.size()));
  }
  return most;
}

void to_kernels(std::vector<PieceSums>& pieces) {
  for (PieceSums& piece : pieces) {
    const View<int> merges("quern::parallel::piece_merges", piece.added.size());
    const Kokkos::View<int*, Kokkos::HostSpace> host("quern::parallel::host_piece_merges",
                                                     piece.added.size());
    std::copy(piece.added.begin(), piece.added.end(), host.data());
    Kokkos::deep_copy(merges, host);
    piece.merges = merges;
  }
}

GradientSums sums_of_piece(const GradientSums& stack, const PieceSums& piece) {
  const auto size = static_cast<std::int64_t>(stack.data.extent(0));
  return {Kokkos::subview(stack.data, std::pair(piece.below * stack.stride, size)), stack.stride};
}

void merge_sums(const ExecSpace& exec, const GradientSums& stack, std::int64_t num_floats,
                const PieceSums& piece) {
  const std::int64_t stride = stack.stride;
  const View<const int> merges = piece.merges;
  const int count = static_cast<int>(piece.added.size());
  expect(merges.extent_int(0) == count, "to_kernels()");
  expect((piece.below + count - 1) * stride + num_floats <=
             static_cast<std::int64_t>(stack.data.extent(0)),
         "room for the sums");
  float* sums = stack.data.data();
  const int below = piece.below;
  for_each_chunk(
      exec, "quern::parallel::merge_sums", num_floats,
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        int top = below;  // sums on the stack
        for (int k = 0; k < count; ++k) {
          const float* pushed = sums + (below + k) * stride;
          float* place = sums + top * stride;
          if (pushed != place) {
            QUERN_VECTORIZE
            for (std::int64_t i = begin; i < end; ++i) place[i] = pushed[i];
          }
          ++top;
          for (int merge = merges(k); merge > 0; --merge, --top) {
            float* left = sums + (top - 2) * stride;
            const float* right = sums + (top - 1) * stride;
            QUERN_VECTORIZE
            for (std::int64_t i = begin; i < end; ++i) left[i] += right[i];
          }
        }
      });
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "optim/spread_squares.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "tensor/host_values.hpp"

namespace quern {

namespace {

void copy_pieces(const ExecSpace& exec, const SquaredArrays& arrays,
                 const View<const SpreadRange>& pieces, float* part) {
  if (pieces.extent(0) == 0) return;
  constexpr std::int64_t kGroups = SpreadChunks::kChunk / kLanes;
  Kokkos::parallel_for(
      "quern::optim::pieces_of_chunks", RangePolicy(exec, 0, pieces.extent_int(0) * kGroups),
      KOKKOS_LAMBDA(std::int64_t item) {
        const SpreadRange& piece = pieces(item / kGroups);
        const std::int64_t count = piece.range.end - piece.range.begin;
        const std::int64_t first = item % kGroups * kLanes;
        if (first >= count) return;
        for (int a = 0; a < arrays.count; ++a)
          for (std::int64_t i = first; i < first + kLanes; ++i)
            part[piece.from + a * count + i] = arrays.array[a][piece.range.begin + i];
      });
}

/// Numbers of those that lie in `own`: neighbours.
template <class T, class RangeOf>
std::pair<std::size_t, std::size_t> inside(const std::vector<T>& all, const BlockRange& own,
                                           const RangeOf& range_of) {
  std::size_t first = 0;
  while (first < all.size() && range_of(all[first]).begin < own.begin) ++first;
  std::size_t last = first;
  while (last < all.size() && range_of(all[last]).end <= own.end) ++last;
  return {first, last};
}

}  // namespace

SpreadSquares::SpreadSquares(const std::vector<BlockRange>& chunks, int arrays,
                             const std::vector<std::vector<SpreadRange>>& ranges, int rank) {
  expect(arrays >= 1 && arrays <= SquaredArrays::kMost, "one array or two");
  const SpreadChunks spread = spread_chunks(ranges, chunks, rank, arrays);
  std::vector<std::int64_t> ends;
  for (const BlockRange& chunk : chunks) ends.push_back(chunk.end);
  chunks_ = spread.chunks;
  pieces_ = spread.pieces;
  kernel_chunks_ = copy_to_kernels<BlockRange>("quern::optim::chunks", chunks_);
  kernel_pieces_ = copy_to_kernels<SpreadRange>("quern::optim::pieces", pieces_);
  part_ = rank * spread.part_floats;
  const std::size_t floats = ranges.size() * static_cast<std::size_t>(spread.part_floats);
  sums_ = {arrays, View<double>("quern::optim::sums", floats / 2),
           copy_to_kernels<std::int64_t>("quern::optim::places", spread.place),
           copy_to_kernels<SpreadRange>("quern::optim::shared", spread.shared),
           copy_to_kernels<std::int64_t>("quern::optim::ends", ends)};
}

SpreadSquares::Share SpreadSquares::share(const BlockRange& own) const {
  const auto chunks = inside(chunks_, own, [](const BlockRange& range) { return range; });
  const auto pieces = inside(pieces_, own, [](const SpreadRange& piece) { return piece.range; });
  return {Kokkos::subview(kernel_chunks_, chunks), Kokkos::subview(kernel_pieces_, pieces),
          part_ / 2 + static_cast<std::int64_t>(chunks.first) * sums_.arrays, part_};
}

void SpreadSquares::add(const ExecSpace& exec, const char* label, const Share& share,
                        const SquaredArrays& arrays) const {
  expect(arrays.count == sums_.arrays, "the arrays that there is room for");
  const auto sum_chunks = choose_kernels<SumChunks>(
      {.host = host_set<host::sum_chunks>(), .device = device::sum_chunks});
  sum_chunks(exec, label, arrays, share.chunks, sums_.sums.data() + share.first_sum);
  copy_pieces(exec, arrays, share.pieces, reinterpret_cast<float*>(sums_.sums.data()) + share.part);
}

void SpreadSquares::gather(const AllGather& all_gather) const {
  // Bits are moved, whatever they mean.
  if (all_gather)
    all_gather(FloatView(reinterpret_cast<float*>(sums_.sums.data()), 2 * sums_.sums.extent(0)));
}

}  // namespace quern

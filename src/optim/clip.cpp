// SPDX-License-Identifier: Apache-2.0
#include "optim/clip.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "optim/squares.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

namespace {

void copy_pieces(const ExecSpace& exec, const ConstFloatView& gradient,
                 const View<SpreadRange>& pieces, float* part) {
  if (pieces.extent(0) == 0) return;
  Kokkos::parallel_for(
      "quern::optim::clip_pieces", RangePolicy(exec, 0, pieces.extent_int(0)),
      KOKKOS_LAMBDA(std::int64_t p) {
        const SpreadRange& piece = pieces(p);
        for (std::int64_t i = piece.range.begin; i < piece.range.end; ++i)
          part[piece.from + i - piece.range.begin] = gradient(i);
      });
}

/// Of a chunk whose pieces begin with `piece` and end at `end`.
KOKKOS_INLINE_FUNCTION double sum_of_pieces(const SpreadRange* piece, std::int64_t end,
                                            const float* floats) {
  double lane[kLanes] = {};
  for (bool is_last = false; !is_last; ++piece) {
    add_squares(floats + piece->from, piece->range.end - piece->range.begin, lane);
    is_last = piece->range.end == end;
  }
  return sum_of_lanes(lane);
}

void scale_from_sums(const ExecSpace& exec, const View<double>& sums,
                     const View<std::int64_t>& place, const View<SpreadRange>& shared,
                     std::int64_t block_size, double max_norm, const StepScalarsView& scalars) {
  run_single_item(
      exec, "quern::optim::clip_scale", KOKKOS_LAMBDA() {
        constexpr std::int64_t kChunk = SpreadChunks::kChunk;
        const auto* floats = reinterpret_cast<const float*>(sums.data());
        double total = 0;
        for (std::int64_t chunk = 0; chunk < place.extent_int(0); ++chunk) {
          const std::int64_t at = place(chunk);
          const std::int64_t end =
              (chunk + 1) * kChunk < block_size ? (chunk + 1) * kChunk : block_size;
          total += at >= 0 ? sums(at) : sum_of_pieces(&shared(~at), end, floats);
        }
        const double factor = max_norm / (Kokkos::sqrt(total) + 1e-6);
        scalars().gradient_scale = factor >= 1 ? 1.0f : static_cast<float>(factor);
      });
}

template <class T>
View<T> to_kernels(const std::string& label, const std::vector<T>& values) {
  const View<T> view(label, values.size());
  const Kokkos::View<T*, Kokkos::HostSpace> host(label, values.size());
  std::copy(values.begin(), values.end(), host.data());
  Kokkos::deep_copy(view, host);
  return view;
}

}  // namespace

GradientClip::GradientClip(double max_norm, std::int64_t block_size)
    : max_norm_(max_norm), block_size_(block_size) {
  expect(max_norm >= 0, "a norm of at least 0");
  expect(block_size % kLanes == 0, "a parameter block of whole lane groups");
  spread({{{{0, block_size}, 0}}}, 0);
}

void GradientClip::spread(const std::vector<std::vector<SpreadRange>>& ranges, int rank) {
  if (!is_active()) return;
  const SpreadChunks spread = spread_chunks(ranges, block_size_, rank);
  least_floats_ = 0;
  for (const BlockRange& chunk : spread.chunks) least_floats_ = std::max(least_floats_, chunk.end);
  for (const SpreadRange& piece : spread.pieces)
    least_floats_ = std::max(least_floats_, piece.range.end);
  chunks_ = to_kernels("quern::optim::clip_chunks", spread.chunks);
  pieces_ = to_kernels("quern::optim::clip_pieces", spread.pieces);
  place_ = to_kernels("quern::optim::clip_place", spread.place);
  shared_ = to_kernels("quern::optim::clip_shared", spread.shared);
  first_float_ = rank * spread.part_floats;
  sums_ = View<double>("quern::optim::clip_sums",
                       ranges.size() * static_cast<std::size_t>(spread.part_floats) / 2);
}

void GradientClip::set_scale(const ExecSpace& exec, const StepScalarsView& scalars,
                             const ConstFloatView& gradient,
                             const std::function<void(const FloatView&)>& all_gather) const {
  if (!is_active()) return;
  expect(static_cast<std::int64_t>(gradient.extent(0)) >= least_floats_, "a whole gradient block");
  // Bits are moved, whatever they mean.
  const FloatView floats(reinterpret_cast<float*>(sums_.data()), 2 * sums_.extent(0));
  const auto sum_chunks = choose_kernels<SumChunks>(
      {.host = host_set<host::sum_chunks>(), .device = device::sum_chunks});
  sum_chunks(exec, gradient, chunks_, sums_.data() + first_float_ / 2);
  copy_pieces(exec, gradient, pieces_, floats.data() + first_float_);
  if (all_gather) all_gather(floats);
  scale_from_sums(exec, sums_, place_, shared_, block_size_, max_norm_, scalars);
}

}  // namespace quern

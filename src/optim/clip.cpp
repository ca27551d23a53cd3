// SPDX-License-Identifier: Apache-2.0
#include "optim/clip.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "tensor/parallel_for.hpp"

namespace quern {

namespace {

void scale_from_sums(const ExecSpace& exec, const ChunkSums& sums, double max_norm,
                     const StepScalarsView& scalars) {
  run_single_item(
      exec, "quern::optim::clip_scale", KOKKOS_LAMBDA() {
        double total = 0;
        for (std::int64_t chunk = 0; chunk < sums.place.extent_int(0); ++chunk)
          total += sums.of(chunk, 0);
        const double factor = max_norm / (Kokkos::sqrt(total) + 1e-6);
        scalars().gradient_scale = factor >= 1 ? 1.0f : static_cast<float>(factor);
      });
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
  squares_ = SpreadSquares(cut_into_chunks({0, block_size_}), 1, ranges, rank);
  least_floats_ = 0;
  for (const SpreadRange& range : ranges[static_cast<std::size_t>(rank)])
    least_floats_ = std::max(
        least_floats_, range.from + std::min(range.range.end, block_size_) - range.range.begin);
  share_ = squares_.share({0, least_floats_});
}

void GradientClip::set_scale(const ExecSpace& exec, const StepScalarsView& scalars,
                             const ConstFloatView& gradient, const AllGather& all_gather) const {
  if (!is_active()) return;
  expect(static_cast<std::int64_t>(gradient.extent(0)) >= least_floats_, "a whole gradient block");
  squares_.add(exec, "quern::optim::clip_chunks", share_, {1, {gradient.data()}});
  squares_.gather(all_gather);
  scale_from_sums(exec, squares_.sums(), max_norm_, scalars);
}

}  // namespace quern

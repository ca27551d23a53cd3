// SPDX-License-Identifier: Apache-2.0
#include "optim/clip.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "optim/device/clip.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

KOKKOS_INLINE_FUNCTION double sum_of_squares(const float* values, std::int64_t count) {
  double lane[kLanes] = {};
  for (std::int64_t i = 0; i < count; i += kLanes)
    for (int l = 0; l < kLanes; ++l) {
      const double value = values[i + l];
      lane[l] += value * value;
    }
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
  return lane[0];
}

// Overwrites sums[i] with the squares of chunk chunks(i).
void sum_chunks(const ExecSpace& exec, const ConstFloatView& gradient, std::int64_t size,
                const View<std::int64_t>& chunks, double* sums) {
  constexpr std::int64_t kChunk = GradientClip::kChunk;
  if (runs_device_kernels()) {
    for_each_team(exec, "quern::optim::clip_chunks", chunks.extent_int(0),
                  device::SquaresOfChunk<>{gradient.data(), size, kChunk, chunks.data(), sums});
    return;
  }
  Kokkos::parallel_for(
      "quern::optim::clip_chunks", RangePolicy(exec, 0, chunks.extent_int(0)),
      KOKKOS_LAMBDA(std::int64_t i) {
        const std::int64_t begin = chunks(i) * kChunk;
        const std::int64_t count = size - begin < kChunk ? size - begin : kChunk;
        sums[i] = sum_of_squares(gradient.data() + begin, count);
      });
}

void scale_from_sums(const ExecSpace& exec, const View<double>& sums,
                     const View<std::int64_t>& place, double max_norm,
                     const StepScalarsView& scalars) {
  Kokkos::parallel_for(
      "quern::optim::clip_scale", RangePolicy(exec, 0, 1), KOKKOS_LAMBDA(std::int64_t) {
        double total = 0;
        for (std::size_t chunk = 0; chunk < place.extent(0); ++chunk) total += sums(place(chunk));
        const double factor = max_norm / (Kokkos::sqrt(total) + 1e-6);
        scalars().gradient_scale = factor >= 1 ? 1.0f : static_cast<float>(factor);
      });
}

View<std::int64_t> to_kernels(const std::string& label, const std::vector<std::int64_t>& values) {
  const View<std::int64_t> view(label, values.size());
  const Kokkos::View<std::int64_t*, Kokkos::HostSpace> host(label, values.size());
  std::copy(values.begin(), values.end(), host.data());
  Kokkos::deep_copy(view, host);
  return view;
}

}  // namespace

GradientClip::GradientClip(double max_norm, std::int64_t block_size)
    : max_norm_(max_norm), block_size_(block_size) {
  expect(max_norm >= 0, "a norm of at least 0");
  expect(block_size % kLanes == 0, "a parameter block of whole lane groups");
  spread({{{0, block_size}}}, 0);
}

void GradientClip::spread(const std::vector<std::vector<BlockRange>>& ranges, int rank) {
  if (!is_active()) return;
  const auto num_chunks = static_cast<std::size_t>((block_size_ + kChunk - 1) / kChunk);
  std::vector<std::vector<std::int64_t>> chunks(ranges.size());
  std::size_t most = 1;
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    for (const BlockRange& range : ranges[r]) {
      expect(range.begin % kChunk == 0, "ranges of whole chunks");
      const std::int64_t end = std::min(range.end, block_size_);
      for (std::int64_t at = range.begin; at < end; at += kChunk) chunks[r].push_back(at / kChunk);
    }
    most = std::max(most, chunks[r].size());
  }
  std::vector<std::int64_t> place(num_chunks, -1);
  for (std::size_t r = 0; r < chunks.size(); ++r)
    for (std::size_t i = 0; i < chunks[r].size(); ++i)
      place.at(static_cast<std::size_t>(chunks[r][i])) = static_cast<std::int64_t>(r * most + i);
  expect(std::find(place.begin(), place.end(), -1) == place.end(), "an owner for every chunk");
  const auto own = static_cast<std::size_t>(rank);
  chunks_ = to_kernels("quern::optim::clip_own_chunks", chunks.at(own));
  sum_place_ = to_kernels("quern::optim::clip_sum_place", place);
  first_sum_ = static_cast<std::int64_t>(own * most);
  sums_ = View<double>("quern::optim::clip_sums", ranges.size() * most);
}

void GradientClip::set_scale(const ExecSpace& exec, const StepScalarsView& scalars,
                             const ConstFloatView& gradient,
                             const std::function<void(const FloatView&)>& all_gather) const {
  if (!is_active()) return;
  expect(static_cast<std::int64_t>(gradient.extent(0)) >= block_size_, "a whole gradient block");
  sum_chunks(exec, gradient, block_size_, chunks_, sums_.data() + first_sum_);
  // Bits are moved, whatever they mean.
  if (all_gather)
    all_gather(FloatView(reinterpret_cast<float*>(sums_.data()), 2 * sums_.extent(0)));
  scale_from_sums(exec, sums_, sum_place_, max_norm_, scalars);
}

}  // namespace quern

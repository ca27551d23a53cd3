// SPDX-License-Identifier: Apache-2.0
#include "optim/clip.hpp"

#include "base/assert.hpp"
#include "optim/device/clip.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

// Part of the order of summation: changing it changes the bits of clipped runs.
constexpr std::int64_t kClipChunk = 4096;

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

void sum_chunks(const ExecSpace& exec, const ConstFloatView& gradient, std::int64_t size,
                const View<double>& sums) {
  if (runs_device_kernels()) {
    for_each_team(exec, "quern::optim::clip_chunks", sums.extent_int(0),
                  device::SquaresOfChunk<>{gradient.data(), size, kClipChunk, sums.data()});
    return;
  }
  Kokkos::parallel_for(
      "quern::optim::clip_chunks", RangePolicy(exec, 0, sums.extent_int(0)),
      KOKKOS_LAMBDA(std::int64_t chunk) {
        const std::int64_t begin = chunk * kClipChunk;
        const std::int64_t count = size - begin < kClipChunk ? size - begin : kClipChunk;
        sums(chunk) = sum_of_squares(gradient.data() + begin, count);
      });
}

void scale_from_sums(const ExecSpace& exec, const View<double>& sums, double max_norm,
                     const StepScalarsView& scalars) {
  Kokkos::parallel_for(
      "quern::optim::clip_scale", RangePolicy(exec, 0, 1), KOKKOS_LAMBDA(std::int64_t) {
        double total = 0;
        for (std::size_t chunk = 0; chunk < sums.extent(0); ++chunk) total += sums(chunk);
        const double factor = max_norm / (Kokkos::sqrt(total) + 1e-6);
        scalars().gradient_scale = factor >= 1 ? 1.0f : static_cast<float>(factor);
      });
}

}  // namespace

GradientClip::GradientClip(double max_norm, std::int64_t block_size)
    : max_norm_(max_norm), block_size_(block_size) {
  expect(max_norm >= 0, "a norm of at least 0");
  expect(block_size % kLanes == 0, "a parameter block of whole lane groups");
  if (max_norm_ > 0)
    chunk_sums_ =
        View<double>("quern::optim::clip_sums", (block_size + kClipChunk - 1) / kClipChunk);
}

void GradientClip::set_scale(const ExecSpace& exec, const StepScalarsView& scalars,
                             const ConstFloatView& gradient) const {
  if (max_norm_ == 0) return;
  expect(static_cast<std::int64_t>(gradient.extent(0)) >= block_size_, "a whole gradient block");
  sum_chunks(exec, gradient, block_size_, chunk_sums_);
  scale_from_sums(exec, chunk_sums_, max_norm_, scalars);
}

}  // namespace quern

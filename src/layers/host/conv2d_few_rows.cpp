// SPDX-License-Identifier: Apache-2.0
#include "layers/host/conv2d_few_rows.hpp"

#include <algorithm>

#include "layers/host/conv2d_few_panels.hpp"

namespace quern::host {

namespace {

// Full vectors of channels are faster than 16 lanes of so many samples; less where the last vector
// of channels is not full. Measured: the time is about (0.08 + 0.06 samples) of that of 16 samples,
// `kernel_bench --benchmark_filter='conv2d_.*/(1|2|4|8|12|16)x.*'`.
constexpr int kMostSamples = 11;
// Of a weight gradient with one vector of output channels, which waits for its few sums.
constexpr int kMostSamplesOfVector = 8;

int most_samples(int channels, int most) {
  return most * channels / (kLanes * count_vectors(channels));
}

int few_most_forward(const ConvShape& shape) {
  return most_samples(shape.out_channels, kMostSamples);
}

int few_most_gradient(const ConvShape& shape) {
  return most_samples(shape.in_channels, kMostSamples);
}

}  // namespace

bool has_few_samples(const ConvShape& shape, const BlockSchedule& schedule) {
  if (schedule.block_rows > kLanes || schedule.num_blocks == 0) return false;
  const int channels = shape.out_channels;
  const int most = most_samples(channels, channels > kLanes ? kMostSamples : kMostSamplesOfVector);
  const std::int64_t full = schedule.num_blocks - 1;
  return full * schedule.block_samples + schedule.last_samples <=
         std::int64_t{most} * schedule.num_blocks;
}

std::int64_t conv2d_few_rows_scratch(int threads, const ConvShape& shape, const BatchLimit& most) {
  const int groups = most.rows / kLanes;
  const int depth = most_depth(std::min(most.blocks(), groups));
  return std::max({few_forward_scratch(threads, shape, groups, few_most_forward(shape)),
                   few_input_gradient_scratch(threads, shape, groups, few_most_gradient(shape)),
                   conv2d_few_weight_gradient_scratch(threads, shape, depth)});
}

const Conv2dFewRowsKernels& conv2d_few_rows_kernels() {
  static constexpr Conv2dFewRowsKernels kKernels = {
      .most_forward = few_most_forward,
      .forward_floats = few_forward_floats,
      .pack_forward = few_pack_forward,
      .forward = few_forward,
      .most_gradient = few_most_gradient,
      .gradient_floats = few_gradient_floats,
      .pack_gradient = few_pack_gradient,
      .input_gradient = few_input_gradient,
  };
  return kKernels;
}

}  // namespace quern::host

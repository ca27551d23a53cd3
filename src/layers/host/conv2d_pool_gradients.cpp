// SPDX-License-Identifier: Apache-2.0
#include "layers/host/conv2d_pool_gradients.hpp"

#include <algorithm>

#include "layers/host/conv2d_loops.hpp"
#include "layers/host/pool_tiles.hpp"
#include "layers/host/scratch.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;

// The rows of windows are cut into strips, whose pixels stay in the first-level cache, or in the
// second where images are wide.
EvenSplit strips_of(const PoolWindow& window) {
  constexpr int kStripPixels = 64;
  return {window.out_height, std::max(1, kStripPixels / (window.size * window.width))};
}

// As many channels as share the pixels that they read: those there are registers for, but fewer
// where threads would find less than two items each.
EvenSplit channels_of_items(int threads, const ConvShape& shape) {
  const int for_threads = threads == 1 ? shape.out_channels : shape.out_channels / (2 * threads);
  return {shape.out_channels, std::clamp(for_threads, 1, largest_channels(shape.kernel))};
}

// Everything that the gradients of a work item's channels are computed from. An item computes the
// gradients of the pixels of a strip and then everything that reads them.
struct Gradients {
  ConvShape shape;
  PoolWindow window;
  float share;
  BlockSchedule schedule;
  const float* x;
  const std::uint16_t* passes;
  const float* dy;
  GradientSums partial_sums;
  std::int64_t weight_offset;
  std::int64_t bias_offset;

  // The sums of a block in C channels, a vector of 16 lanes each: K columns of C weights for each
  // kernel row and input channel.
  template <int C, int K>
  struct Lanes {
    simd::Vector weights[kMostPoolChannels * K][C * K];
    simd::Vector bias[C];
  };

  // Some rows of windows of a group of samples.
  struct Strip {
    std::int64_t group;
    int row;
    int rows;
  };

  // Strip n of all, group by group.
  Strip strip(const EvenSplit& strips, std::int64_t n) const {
    const int part = static_cast<int>(n % strips.pieces);
    return {n / strips.pieces, strips.begin(part), strips.size(part)};
  }

  const float* gradients_of(const Strip& strip, int o) const {
    return dy + (strip.group * shape.out_channels + o) * window.out_plane() +
           std::int64_t{kLanes} * strip.row * window.out_width;
  }
  const std::uint16_t* passes_of(const Strip& strip, int o) const {
    return passes + (strip.group * shape.out_channels + o) * window.plane() / kLanes +
           std::int64_t{strip.row} * window.size * window.width;
  }

  // The gradient of the pixels of a channel in a strip, before the ReLU.
  template <int Size>
  void spread(const Strip& strip, int o, float* pixels) const {
    const float* gradient = gradients_of(strip, o);
    const std::uint16_t* pass = passes_of(strip, o);
    const simd::Vector factor = simd::broadcast(share);
    const std::int64_t row_floats = std::int64_t{kLanes} * window.width;
    for (int row = 0; row < strip.rows; ++row) {
      for (int ow = 0; ow < window.out_width; ++ow, gradient += kLanes) {
        simd::spread_over_window<Size>(simd::load(gradient) * factor, pass + ow * Size,
                                       window.width, pixels + ow * Size * kLanes, row_floats);
      }
      pass += Size * window.width;
      pixels += Size * row_floats;
    }
  }

  // Asks for what spread() will read: it comes while other pixels are added.
  void fetch(const Strip& strip, int o) const {
    const int windows = strip.rows * window.out_width;
    const float* gradient = gradients_of(strip, o);
    for (int k = 0; k < windows; ++k) simd::prefetch(gradient + std::int64_t{kLanes} * k);
    const std::uint16_t* pass = passes_of(strip, o);
    for (int k = 0; k < windows * window.size * window.size; k += 2 * kLanes)
      simd::prefetch(pass + k);
  }

  // Adds the pixels of a strip, [C, rows, width] as `shape_of_strip` says. Fresh: the first ones of
  // a block.
  template <bool Fresh, int C, int K>
  void add_strip(const ConvShape& shape_of_strip, const float* x_strip, const float* pixels,
                 Lanes<C, K>& lanes) const {
    for (int row = 0; row < shape.in_channels * K; ++row) {
      simd::conv_weight_gradient_tile<C, K, Fresh>(shape_of_strip, x_strip, pixels, 1, 0, row / K,
                                                   row % K, 0, lanes.weights[row]);
    }
    simd::Vector sum[C];
    for (int c = 0; c < C; ++c) sum[c] = Fresh ? simd::Vector{} : lanes.bias[c];
    const std::int64_t channel = shape_of_strip.out(1, 0, 0);
    for (std::int64_t pixel = 0; pixel < channel; pixel += kLanes) {
      for (int c = 0; c < C; ++c) sum[c] += simd::load(pixels + c * channel + pixel);
    }
    for (int c = 0; c < C; ++c) lanes.bias[c] = sum[c];
  }

  // Weight and bias gradients of the channels o .. o + C - 1; K: kernel rows and columns. `pixels`
  // has room for a strip of these channels.
  template <int C, int K>
  void compute(int o, float* pixels) const {
    BlockStack<C * K> weights[kMostPoolChannels * K];
    BlockStack<C> bias;
    Lanes<C, K> lanes;
    const EvenSplit strips = strips_of(window);
    const std::int64_t strips_of_block =
        std::int64_t{strips.pieces} * (schedule.block_rows / kLanes);
    const std::int64_t all = schedule.num_blocks * strips_of_block;
    std::int64_t n = 0;
    for (int block = 0; block < schedule.num_blocks; ++block) {
      const std::int64_t first = n;
      for (const std::int64_t end = n + strips_of_block; n < end; ++n) {
        const Strip at = strip(strips, n);
        ConvShape part = shape;
        part.out_channels = C;
        part.out_height = at.rows * window.size;
        for (int c = 0; c < C; ++c) {
          float* channel = pixels + part.out(c, 0, 0);
          window.size == 2 ? spread<2>(at, o + c, channel) : spread<3>(at, o + c, channel);
        }
        if (n + 1 < all) {
          for (int c = 0; c < C; ++c) fetch(strip(strips, n + 1), o + c);
        }
        const float* x_strip =
            x + at.group * shape.in_group() + shape.in(0, at.row * window.size * shape.stride, 0);
        n == first ? add_strip<true>(part, x_strip, pixels, lanes)
                   : add_strip<false>(part, x_strip, pixels, lanes);
      }
      const int merges = schedule.host_merges(block);
      for (int row = 0; row < shape.in_channels * K; ++row) {
        float sums[C * K];
        simd::sum_lanes<C * K>(lanes.weights[row], sums);
        weights[row].push(sums, C * K, merges);
      }
      float sums[C];
      simd::sum_lanes<C>(lanes.bias, sums);
      bias.push(sums, C, merges);
    }
    for (int row = 0; row < shape.in_channels * K; ++row) {
      store_partial_sums<C, K>(weights[row], shape, partial_sums, weight_offset, o, row / K,
                               row % K, 0);
    }
    for (int p = 0; p < bias.top; ++p) {
      float* out = partial_sums.data.data() + p * partial_sums.stride + bias_offset + o;
      std::copy(bias.rows[p], bias.rows[p] + C, out);
    }
  }
};

}  // namespace

// The pixels of a strip.
std::int64_t conv2d_pool_gradients_scratch(int threads, const ConvShape& shape, const Pool& pool,
                                           const BatchLimit& /*most*/) {
  const PoolWindow& window = pool.window;
  return std::int64_t{kLanes} * channels_of_items(threads, shape).size(0) *
         strips_of(window).size(0) * window.size * window.width;
}

void conv2d_pool_gradients(const ExecSpace& exec, const ConvShape& shape, const Pool& pool,
                           const BlockSchedule& schedule, const float* x,
                           const std::uint16_t* passes, const float* dy,
                           const GradientSums& partial_sums, std::int64_t weight_offset,
                           std::int64_t bias_offset) {
  const Gradients work{shape,  pool.window, pool.share(), schedule,      x,
                       passes, dy,          partial_sums, weight_offset, bias_offset};
  const int threads = exec.concurrency();
  const EvenSplit channels = channels_of_items(threads, shape);
  const std::int64_t strip = conv2d_pool_gradients_scratch(threads, shape, pool, schedule.rows());
  Kokkos::parallel_for("quern::layers::conv2d_pool_gradients",
                       RangePolicy(exec, 0, channels.pieces), [=](std::int64_t item) {
                         const int o = channels.begin(static_cast<int>(item));
                         float* pixels = scratch(strip);
                         simd::with_constant<kMostPoolKernel>(shape.kernel, [&]<int K>() {
                           simd::with_constant<largest_channels(K)>(
                               channels.size(static_cast<int>(item)),
                               [&]<int C>() { work.compute<C, K>(o, pixels); });
                         });
                       });
}

}  // namespace quern::host

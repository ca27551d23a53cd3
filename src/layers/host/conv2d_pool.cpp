// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d_pool_kernels.hpp"
#include "layers/host/conv2d_loops.hpp"
#include "layers/host/pool_tiles.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;

// Limits of gradients(), whose sums of blocks lie on the stack: a BlockStack, at most 4 KB, for
// each kernel row and input channel.
constexpr int kMaxKernel = kTapColumns;
constexpr int kMaxInChannels = 4;
// Forward computes a strip of pixels and then pools it: rows of a window, and whole windows of
// either size wide. Strips stay in the first or second level cache.
constexpr int kMaxWindow = 3;
constexpr int kStripColumns = 24;
static_assert(kStripColumns % 2 == 0 && kStripColumns % kMaxWindow == 0);

bool supports(const ConvShape& shape, const Pool& pool) {
  const PoolWindow& window = pool.window;
  return shape.kernel <= kMaxKernel && shape.in_channels <= kMaxInChannels &&
         (window.size == 2 || window.size == 3) && window.tiles_the_plane() &&
         window.height == shape.out_height && window.width == shape.out_width;
}

// The convolution and its ReLU: a strip's output.
void compute_strip(const ConvShape& strip, const float* x, const float* weights, const float* bias,
                   float* pixels) {
  with_kernel_size(strip.kernel, [&]<int K>() {
    for (int row = 0; row < strip.out_height; ++row) {
      for_each_column_tile(strip.out_width, [&]<int T>(int column) {
        for_each_channel_tile(strip.out_channels, [&]<int C>(int c) {
          simd::conv_forward_tile<C, T, K>(strip, x, weights, bias, true, pixels, c, row, column);
        });
      });
    }
  });
}

// One row of the pool's output of a group: x, y and passes are the group's.
template <int Size, PoolKind Kind>
void forward_row(const ConvShape& shape, const PoolWindow& window, const float* x,
                 const float* weights, const float* bias, std::uint16_t* passes, float* y,
                 int row) {
  float pixels[simd::kConvChannels * Size * kStripColumns * kLanes];
  const EvenSplit channel_tiles(shape.out_channels, simd::kConvChannels);
  for (int tile = 0; tile < channel_tiles.pieces; ++tile) {
    const int o = channel_tiles.begin(tile);
    for (int begin = 0; begin < shape.out_width; begin += kStripColumns) {
      ConvShape strip = shape;
      strip.out_channels = channel_tiles.size(tile);
      strip.out_height = Size;
      strip.out_width = std::min(kStripColumns, shape.out_width - begin);
      const float* x_strip = x + shape.in(0, row * Size * shape.stride, begin * shape.stride);
      compute_strip(strip, x_strip, weights + std::int64_t{o} * shape.taps(), bias + o, pixels);
      for (int c = 0; c < strip.out_channels; ++c) {
        for (int column = 0; column < strip.out_width; column += Size) {
          const int ow = (begin + column) / Size;
          float* out = y + (o + c) * window.out_plane() +
                       std::int64_t{kLanes} * (row * window.out_width + ow);
          std::uint16_t* pass = passes + shape.out(o + c, row * Size, begin + column) / kLanes;
          const float* in = pixels + strip.out(c, 0, column);
          const std::int64_t in_row = std::int64_t{kLanes} * strip.out_width;
          if constexpr (Kind == PoolKind::maximum) {
            simd::maximum_of_window<Size>(in, in_row, out, pass, shape.out_width);
          } else {
            simd::mean_of_window<Size>(in, in_row, window.mean_factor(), out, pass,
                                       shape.out_width);
          }
        }
      }
    }
  }
}

using ForwardRow = decltype(&forward_row<2, PoolKind::mean>);

ForwardRow forward_row_of(const Pool& pool) {
  const bool two = pool.window.size == 2;
  if (pool.kind == PoolKind::maximum)
    return two ? forward_row<2, PoolKind::maximum> : forward_row<3, PoolKind::maximum>;
  return two ? forward_row<2, PoolKind::mean> : forward_row<3, PoolKind::mean>;
}

void forward(const ExecSpace& exec, const ConvShape& shape, const Pool& pool, int batch_rows,
             const float* x, const float* weights, const float* bias, std::uint16_t* passes,
             float* y) {
  const PoolWindow window = pool.window;
  const ForwardRow compute_row = forward_row_of(pool);
  const std::int64_t items = std::int64_t{batch_rows / kLanes} * window.out_height;
  Kokkos::parallel_for("quern::layers::conv2d_pool_forward", RangePolicy(exec, 0, items),
                       [=](std::int64_t item) {
                         const std::int64_t group = item / window.out_height;
                         compute_row(shape, window, x + group * shape.in_group(), weights, bias,
                                     passes + group * shape.out_group() / kLanes,
                                     y + group * shape.out_channels * window.out_plane(),
                                     static_cast<int>(item % window.out_height));
                       });
}

// The gradients of a block's pixels; how many rows of the batch a block has is not known yet: at
// most all of them.
std::int64_t workspace_floats(const ConvShape& shape, int max_rows) {
  return shape.out_group() * (max_rows / kLanes);
}

// Everything that the gradients of a work item's channels are computed from.
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

  // The gradient of a channel's pixels of a group of 16 samples, before the ReLU.
  template <int Size>
  void spread(std::int64_t group, int o, float* pixels) const {
    const std::int64_t plane = group * shape.out_channels + o;
    const float* gradient = dy + plane * window.out_plane();
    const std::uint16_t* pass = passes + plane * window.plane() / kLanes;
    const simd::Vector factor = simd::broadcast(share);
    for (int oh = 0; oh < window.out_height; ++oh) {
      for (int ow = 0; ow < window.out_width; ++ow, gradient += kLanes) {
        const std::int64_t begin = window.begin(oh, ow);
        simd::spread_over_window<Size>(simd::load(gradient) * factor, pass + begin / kLanes,
                                       window.width, pixels + begin,
                                       std::int64_t{kLanes} * window.width);
      }
    }
  }

  // Weight and bias gradients of the channels o .. o + C - 1; K: kernel rows and columns.
  // `gradients` has room for these channels' gradients of a block.
  template <int C, int K>
  void compute(int o, float* gradients) const {
    BlockStack<C * K> weights[kMaxInChannels * K];
    BlockStack<C> bias;
    const int groups = schedule.block_rows / kLanes;
    const std::int64_t plane = window.plane();
    ConvShape channels = shape;  // of x and gradients
    channels.out_channels = C;
    for (int block = 0; block < schedule.num_blocks; ++block) {
      const std::int64_t first = std::int64_t{block} * groups;
      for (int group = 0; group < groups; ++group) {
        for (int c = 0; c < C; ++c) {
          float* pixels = gradients + (group * C + c) * plane;
          window.size == 2 ? spread<2>(first + group, o + c, pixels)
                           : spread<3>(first + group, o + c, pixels);
        }
      }
      const int merges = schedule.host_merges(block);
      for (int row = 0; row < shape.in_channels * K; ++row) {
        simd::Vector lanes[C * K];
        simd::conv_weight_gradient_tile<C, K, true>(channels, x + first * shape.in_group(),
                                                    gradients, groups, 0, row / K, row % K, 0,
                                                    lanes);
        float sums[C * K];
        simd::sum_lanes<C * K>(lanes, sums);
        weights[row].push(sums, C * K, merges);
      }
      float sums[C];
      for (int c = 0; c < C; ++c) {
        sums[c] = sum_of_planes(gradients + c * plane, groups, channels.out_group(),
                                static_cast<int>(plane / kLanes));
      }
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

void gradients(const ExecSpace& exec, const ConvShape& shape, const Pool& pool,
               const BlockSchedule& schedule, const float* x, const std::uint16_t* passes,
               const float* dy, const GradientSums& partial_sums, std::int64_t weight_offset,
               std::int64_t bias_offset, const FloatView& workspace) {
  const Gradients work{shape,  pool.window, pool.share(), schedule,      x,
                       passes, dy,          partial_sums, weight_offset, bias_offset};
  // An item's channels share the pixels that they read: as many as there are registers for, but not
  // so many that less than two items are left for a thread.
  const int threads = exec.concurrency();
  const int for_threads = threads == 1 ? shape.out_channels : shape.out_channels / (2 * threads);
  const EvenSplit channels(shape.out_channels,
                           std::clamp(for_threads, 1, largest_channels(shape.kernel)));
  const std::int64_t gradients = pool.window.plane() * (schedule.block_rows / kLanes);
  float* const scratch = workspace.data();
  Kokkos::parallel_for("quern::layers::conv2d_pool_gradients",
                       RangePolicy(exec, 0, channels.pieces), [=](std::int64_t item) {
                         const int o = channels.begin(static_cast<int>(item));
                         simd::with_constant<kMaxKernel>(shape.kernel, [&]<int K>() {
                           simd::with_constant<largest_channels(K)>(
                               channels.size(static_cast<int>(item)),
                               [&]<int C>() { work.compute<C, K>(o, scratch + o * gradients); });
                         });
                       });
}

}  // namespace

const Conv2dPoolKernels& conv2d_pool_kernels() {
  static constexpr Conv2dPoolKernels kKernels = {
      .adds_borders = false,
      .supports = supports,
      .forward = forward,
      .workspace_floats = workspace_floats,
      .gradients = gradients,
  };
  return kKernels;
}

}  // namespace quern::host

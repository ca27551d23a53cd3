// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d_pool_kernels.hpp"
#include "layers/host/conv2d_pool_gradients.hpp"
#include "layers/host/conv2d_tiles.hpp"
#include "layers/host/pool_tiles.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;

constexpr int most_channels(int window) {
  return window == 2 ? simd::kChannelsOfPool2 : simd::kChannelsOfPool3;
}

bool supports(const ConvShape& shape, const Pool& pool) {
  const PoolWindow& window = pool.window;
  return shape.kernel <= kMostPoolKernel && shape.in_channels <= kMostPoolChannels &&
         (window.size == 2 || window.size == 3) && window.tiles_the_plane() &&
         window.height == shape.out_height && window.width == shape.out_width;
}

// Everything of the forward pass.
struct Forward {
  ConvShape shape;
  PoolWindow window;
  PoolKind kind;
  const float* weights;
  const float* bias;
  // Worked out once: GCC would do it for each window, with a division.
  float mean_factor = window.mean_factor();
  std::int64_t plane = window.plane() / kLanes;
  std::int64_t out_plane = window.out_plane();

  // The windows of C channels of a row of the pool's output: x, passes and y are those of the first
  // window. Of channel_weights [taps, packed] the first C columns are read.
  template <int C, int Size, int K>
  void compute(const float* x, const float* channel_weights, int packed, const float* biases,
               std::uint16_t* passes, float* y) const {
    for (int ow = 0; ow < window.out_width; ++ow) {
      for (int lane = 0; lane < simd::kWidth; lane += simd::kRegisterLanes) {
        compute_window<C, Size, K>(x + lane, channel_weights, packed, biases, lane, passes,
                                   y + lane);
      }
      x += Size * shape.stride * kLanes;
      passes += Size;
      y += kLanes;
    }
  }

  // Of one register's lanes, from `lane` on.
  template <int C, int Size, int K>
  [[gnu::always_inline]] void compute_window(const float* x, const float* channel_weights,
                                             int packed, const float* biases, int lane,
                                             std::uint16_t* passes, float* y) const {
    constexpr int kPixels = Size * Size;
    const std::int64_t column = std::int64_t{kLanes} * shape.stride;
    const std::int64_t row = column * shape.in_width;
    simd::Register sum[C][kPixels] = {};
    for (int i = 0; i < shape.in_channels; ++i) {
#pragma GCC unroll 5
      for (int kh = 0; kh < K; ++kh) {
        const float* from = x + shape.in(i, kh, 0);
#pragma GCC unroll 5
        for (int kw = 0; kw < K; ++kw) {
          simd::Register weight[C];
          for (int c = 0; c < C; ++c)
            weight[c] = simd::in_register(simd::broadcast<simd::Register>(channel_weights[c]));
          for (int k = 0; k < kPixels; ++k) {
            const simd::Register pixel = simd::in_register(simd::load<simd::Register>(
                from + k / Size * row + k % Size * column + kLanes * kw));
            for (int c = 0; c < C; ++c) sum[c][k] = simd::multiply_add(weight[c], pixel, sum[c][k]);
          }
          channel_weights += packed;
        }
      }
    }
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      const auto b = simd::broadcast<simd::Register>(biases[c]);
      for (int k = 0; k < kPixels; ++k) sum[c][k] += b;
      unsigned passing[kPixels];
      simd::store(y + c * out_plane,
                  kind == PoolKind::maximum
                      ? simd::maximum_of_window<Size>(sum[c], passing)
                      : simd::mean_of_window<Size>(sum[c], mean_factor, passing));
      simd::store_passes<Size>(passing, passes + c * plane, shape.out_width, lane);
    }
  }

  // One row of the pool's output of a group: x, y and passes are the group's.
  template <int Size, int K>
  void compute_row(const float* x, std::uint16_t* passes, float* y, int row) const {
    const EvenSplit packed_tiles(shape.out_channels, simd::kConvChannels);
    const float* x_row = x + shape.in(0, row * Size * shape.stride, 0);
    for (int tile = 0; tile < packed_tiles.pieces; ++tile) {
      const int first = packed_tiles.begin(tile);
      const int packed = packed_tiles.size(tile);
      const float* tile_weights = weights + std::int64_t{first} * shape.taps();
      const EvenSplit tiles(packed, most_channels(Size));
      for (int part = 0; part < tiles.pieces; ++part) {
        const int begin = tiles.begin(part);
        const int o = first + begin;
        simd::with_constant<most_channels(Size)>(tiles.size(part), [&]<int C>() {
          compute<C, Size, K>(x_row, tile_weights + begin, packed, bias + o,
                              passes + shape.out(o, row * Size, 0) / kLanes,
                              y + o * out_plane + std::int64_t{kLanes} * row * window.out_width);
        });
      }
    }
  }
};

void forward(const ExecSpace& exec, const ConvShape& shape, const Pool& pool, int batch_rows,
             const float* x, const float* weights, const float* bias, std::uint16_t* passes,
             float* y) {
  const PoolWindow window = pool.window;
  const Forward work{shape, window, pool.kind, weights, bias};
  const std::int64_t items = std::int64_t{batch_rows / kLanes} * window.out_height;
  Kokkos::parallel_for(
      "quern::layers::conv2d_pool_forward", RangePolicy(exec, 0, items), [=](std::int64_t item) {
        const std::int64_t group = item / window.out_height;
        const int row = static_cast<int>(item % window.out_height);
        const float* x_group = x + group * shape.in_group();
        std::uint16_t* group_passes = passes + group * shape.out_group() / kLanes;
        float* y_group = y + group * shape.out_channels * window.out_plane();
        simd::with_constant<kMostPoolKernel>(shape.kernel, [&]<int K>() {
          window.size == 2 ? work.compute_row<2, K>(x_group, group_passes, y_group, row)
                           : work.compute_row<3, K>(x_group, group_passes, y_group, row);
        });
      });
}

}  // namespace

const Conv2dPoolKernels& conv2d_pool_kernels() {
  static constexpr Conv2dPoolKernels kKernels = {
      .adds_borders = false,
      .scratch_floats = conv2d_pool_gradients_scratch,
      .supports = supports,
      .forward = forward,
      .gradients = conv2d_pool_gradients,
  };
  return kKernels;
}

}  // namespace quern::host

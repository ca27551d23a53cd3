// SPDX-License-Identifier: Apache-2.0
// Convolution, ReLU and pool as one (layers/conv2d_pool_kernels.hpp), products on tiles of
// bfloat16.
#include <type_traits>

#include "layers/conv2d_pool_kernels.hpp"
#include "layers/host/conv2d_bf16_products.hpp"
#include "layers/host/conv2d_bf16_weight_sums.hpp"
#include "layers/host/pool_tiles.hpp"
#include "layers/host/scratch.hpp"

namespace quern::host {

namespace {

// Two tiles of channels, at most three rows, and columns of whole windows of either size: what is
// pooled stays in the first-level cache.
constexpr int kPooledColumns = 6;
constexpr int kPooledChannels = 2 * kTileRows;
constexpr int kLargestWindow = 3;

template <int Size>
using WindowSize = std::integral_constant<int, Size>;

// Calls f(WindowSize<Size>).
template <class F>
void with_window_size(const Pool& pool, const F& f) {
  if (pool.window.size == 2)
    f(WindowSize<2>{});
  else
    f(WindowSize<3>{});
}

// Of the panel that rows of the pool's output are computed from.
std::int64_t pooled_panel_floats(const ConvShape& shape, int size, int row, int rows) {
  const ForwardKernel kernel(shape);
  return channel_pair_floats(kernel.window(shape, row * size, rows * size, 0, shape.out_width),
                             kernel.tiles.channels);
}

PanelGrid pooled_grid(int threads, const ConvShape& shape, const Pool& pool, int batch_rows) {
  return {batch_rows / kLanes, pool.window.out_height, 1, threads,
          [&](int rows, int) { return pooled_panel_floats(shape, pool.window.size, 0, rows); }};
}

// Everything of the forward pass.
struct PooledForward {
  ConvShape shape;
  Pool pool;
  const float* x;
  const Bf16* weights;
  const float* bias;
  std::uint16_t* passes;
  float* y;
  OperandPrecision precision;

  // Rows of the pool's output of a group.
  template <int Size>
  void compute(int group, int row, int rows) const {
    const ForwardKernel kernel(shape);
    const PlaneWindow read = kernel.window(shape, row * Size, rows * Size, 0, shape.out_width);
    auto* panel = reinterpret_cast<Bf16*>(scratch(pooled_panel_floats(shape, Size, row, rows)));
    pack_channel_pairs(Planes{x + group * shape.image_group(), shape.in_channels,
                              shape.image_height(), shape.image_width()},
                       read, kernel.fold, panel);
    const std::int64_t pixel = std::int64_t{count_pairs(kernel.tiles.channels)} * kPairLine;
    const int stride = shape.stride / read.step;
    PixelProduct product{};
    product.kernel = kernel.tiles;
    product.panel_row = read.columns * pixel;
    product.next_line = stride * product.panel_row;
    product.next_column = stride * pixel;
    product.lines = Size;
    product.panel = panel;
    alignas(64) float strip[kPooledChannels * kLargestWindow * kPooledColumns * kLanes];
    for (int o = 0; o < shape.out_channels; o += kPooledChannels) {
      product.weights = weights + o / kTileRows * product.kernel.weights();
      product.results = std::min(kPooledChannels, shape.out_channels - o);
      for (int r = 0; r < rows; ++r) {
        for (int column = 0; column < shape.out_width; column += kPooledColumns) {
          product.columns = std::min(kPooledColumns, shape.out_width - column);
          product.rows = kernel.rows(shape, (row + r) * Size);
          product.across = ForwardKernel::columns(shape, column);
          product.begin = kernel.first_row(shape, read, (row + r) * Size) * product.panel_row +
                          column * product.next_column;
          compute_strip(product, bias + o, strip);
          pool_strip<Size>(product, strip, group, o, row + r, column);
        }
      }
    }
  }

 private:
  // The convolution: strip [channels, lines, columns].
  void compute_strip(const PixelProduct& product, const float* biases, float* strip) const {
    const auto store = [&](const ResultTiles& tiles) {
      for (int c = 0; c < tiles.channels; ++c) {
        const simd::Vector b = simd::broadcast(biases[c]);
        float* to =
            strip + kLanes * ((std::int64_t{c} * product.lines + tiles.line) * product.columns +
                              tiles.column);
        for (int k = 0; k < tiles.columns; ++k) {
          simd::store(to + kLanes * k, simd::load(tiles.at(c, k)) + b);
        }
      }
    };
    multiply_pixels(tile_unit(precision), product, store, kAskForNothing);
  }

  template <int Size>
  void pool_strip(const PixelProduct& product, const float* strip, int group, int o, int row,
                  int begin) const {
    const PoolWindow& window = pool.window;
    const std::int64_t strip_row = std::int64_t{kLanes} * product.columns;
    for (int c = 0; c < product.results; ++c) {
      const std::int64_t plane = std::int64_t{group} * shape.out_channels + o + c;
      for (int column = 0; column < product.columns; column += Size) {
        const float* in = strip + (std::int64_t{c} * Size) * strip_row + kLanes * column;
        float* out = y + plane * window.out_plane() +
                     std::int64_t{kLanes} * (row * window.out_width + (begin + column) / Size);
        std::uint16_t* pass = passes + plane * window.plane() / kLanes +
                              std::int64_t{row} * Size * shape.out_width + begin + column;
        simd::Vector pixels[Size * Size];
        simd::load_window<Size>(in, strip_row, pixels);
        unsigned passing[Size * Size];
        simd::store(out, pool.kind == PoolKind::maximum
                             ? simd::maximum_of_window<Size>(pixels, passing)
                             : simd::mean_of_window<Size>(pixels, window.mean_factor(), passing));
        simd::store_passes<Size>(passing, pass, shape.out_width);
      }
    }
  }
};

bool supports_tiles(const ConvShape& shape, const Pool& pool) {
  return conv2d_pool_kernels().supports(shape, pool);
}

template <OperandPrecision kPrecision>
void pooled_forward_tiles(const ExecSpace& exec, const ConvShape& shape, const Pool& pool,
                          int batch_rows, const float* x, const float* weights, const float* bias,
                          std::uint16_t* passes, float* y) {
  const PooledForward work{shape, pool,   x, reinterpret_cast<const Bf16*>(weights),
                           bias,  passes, y, kPrecision};
  const PanelGrid grid = pooled_grid(exec.concurrency(), shape, pool, batch_rows);
  Kokkos::parallel_for("quern::layers::conv2d_pool_forward", RangePolicy(exec, 0, grid.count()),
                       [=](std::int64_t item) {
                         const PanelPlace at = grid[item];
                         with_window_size(pool, [&](auto size) {
                           work.compute<decltype(size)::value>(at.group, at.row, at.rows);
                         });
                       });
}

// A row of the convolution's gradient, from the pool's.
template <int Size>
struct PooledGradientRow {
  const float* pooled;
  const std::uint16_t* passes;
  float share;

  simd::Vector operator[](int w) const {
    return simd::select_lanes(
        passes[w], simd::load(pooled + std::int64_t{kLanes} * (w / Size)) * simd::broadcast(share),
        simd::Vector{});
  }
};

template <int Size>
struct PooledGradient {
  ConvShape shape;
  Pool pool;
  const std::uint16_t* passes;
  const float* dy;

  PooledGradientRow<Size> row(std::int64_t group, int o, int oh) const {
    const PoolWindow& window = pool.window;
    const std::int64_t plane = group * shape.out_channels + o;
    return {dy + plane * window.out_plane() + std::int64_t{kLanes} * (oh / Size) * window.out_width,
            passes + plane * window.plane() / kLanes + std::int64_t{oh} * window.width,
            pool.share()};
  }
};

std::int64_t pool_scratch(int threads, const ConvShape& shape, const Pool& pool,
                          const BatchLimit& most) {
  const std::int64_t x =
      pooled_grid(threads, shape, pool, most.rows).most([&](const PanelPlace& at) {
        return pooled_panel_floats(shape, pool.window.size, at.row, at.rows);
      });
  return std::max(x, weight_gradient_scratch(threads, shape, most, true));
}

template <OperandPrecision kPrecision>
void pooled_gradients_tiles(const ExecSpace& exec, const ConvShape& shape, const Pool& pool,
                            const BlockSchedule& schedule, const float* x,
                            const std::uint16_t* passes, const float* dy,
                            const GradientSums& partial_sums, std::int64_t weight_offset,
                            std::int64_t bias_offset) {
  with_window_size(pool, [&](auto size) {
    const PooledGradient<decltype(size)::value> gradient{shape, pool, passes, dy};
    sum_weight_gradient<kPrecision>(exec, "quern::layers::conv2d_pool_gradients", shape, schedule,
                                    x, gradient, partial_sums, weight_offset, bias_offset);
  });
}

template <OperandPrecision kPrecision>
constexpr Conv2dPoolKernels kPoolKernels = {
    .adds_borders = true,
    .scratch_floats = pool_scratch,
    .supports = supports_tiles,
    .forward = pooled_forward_tiles<kPrecision>,
    .gradients = pooled_gradients_tiles<kPrecision>,
};

}  // namespace

const Conv2dPoolKernels& conv2d_bf16_pool_kernels() {
  return kPoolKernels<OperandPrecision::bf16>;
}

const Conv2dPoolKernels& conv2d_bf16_pairs_pool_kernels() {
  return kPoolKernels<OperandPrecision::bf16_pairs>;
}

}  // namespace quern::host

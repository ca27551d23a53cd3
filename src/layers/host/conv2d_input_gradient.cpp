// SPDX-License-Identifier: Apache-2.0
#include "layers/host/conv2d_input_gradient.hpp"

#include <algorithm>

#include "layers/host/conv2d_loops.hpp"
#include "layers/host/conv2d_panels.hpp"
#include "layers/host/scratch.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::kConvChannels;

// The part of dx at `at`, from its panel of dy.
void input_gradient_part(const ConvShape& shape, const PanelPlace& at, const float* dy,
                         const float* weights, const float* x_mask, float* dx) {
  const Met rows = outputs_of(shape, at.row, at.rows, shape.out_height);
  const Met columns = outputs_of(shape, at.column, at.columns, shape.out_width);
  const PlaneWindow window{rows.first, rows.count(), columns.first, columns.count()};
  float* data = scratch(window.floats(shape.out_channels));
  copy_window(
      {dy + at.group * shape.out_group(), shape.out_channels, shape.out_height, shape.out_width},
      window, data);
  const simd::GradientPanel panel{data, rows.first, rows.count(), columns.first, columns.count()};
  const std::int64_t image = at.group * shape.image_group();
  const float* mask = x_mask ? x_mask + image : nullptr;
  const std::int64_t channel_weights =
      std::int64_t{shape.kernel} * shape.out_channels * shape.kernel;
  // Rows and columns run fastest: the weights of a tile stay in cache.
  for_each_channel_tile(shape.in_channels, [&]<int C>(int i) {
    for (int row = at.row; row < at.row + at.rows; ++row) {
      // Columns a stride apart meet the same kernel columns.
      for (int phase = 0; phase < std::min(shape.stride, at.columns); ++phase) {
        const int count = (at.columns - phase - 1) / shape.stride + 1;
        for_each_column_tile(count, [&]<int T>(int column) {
          simd::conv_input_gradient_tile<C, T>(shape, panel, weights + i * channel_weights, mask,
                                               dx + image, i, row,
                                               at.column + phase + shape.stride * column);
        });
      }
    }
  });
}

}  // namespace

std::int64_t conv2d_gradient_floats(const ConvShape& shape) {
  return std::int64_t{shape.taps()} * shape.out_channels;
}

void conv2d_pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                          float* packed) {
  const std::int64_t rows = std::int64_t{shape.kernel} * shape.out_channels * shape.kernel;
  const EvenSplit tiles(shape.in_channels, kConvChannels);
  Kokkos::parallel_for("quern::layers::conv2d_pack_gradient", RangePolicy(exec, 0, tiles.pieces),
                       [=](std::int64_t tile) {
                         const int first = tiles.begin(static_cast<int>(tile));
                         const int channels = tiles.size(static_cast<int>(tile));
                         float* out = packed + first * rows;
                         for (int kw = 0; kw < shape.kernel; ++kw) {
                           for (int o = 0; o < shape.out_channels; ++o) {
                             for (int kh = 0; kh < shape.kernel; ++kh) {
                               for (int c = 0; c < channels; ++c)
                                 *out++ = weight[shape.weight(o, first + c, kh, kw)];
                             }
                           }
                         }
                       });
}

namespace {

// Outputs that so many inputs in a row meet, at most.
std::int64_t gradient_panel_floats(const ConvShape& shape, int rows, int columns) {
  const auto extent = [&](int inputs) { return (inputs + shape.kernel - 2) / shape.stride + 1; };
  return PlaneWindow{0, extent(rows), 0, extent(columns)}.floats(shape.out_channels);
}

PanelGrid gradient_grid(int threads, const ConvShape& shape, int batch_rows) {
  return {batch_rows / kLanes, shape.image_height(), shape.image_width(), threads,
          [&](int rows, int columns) { return gradient_panel_floats(shape, rows, columns); }};
}

}  // namespace

std::int64_t conv2d_input_gradient_scratch(int threads, const ConvShape& shape, int batch_rows) {
  const PanelPlace part = gradient_grid(threads, shape, batch_rows).largest();
  return gradient_panel_floats(shape, part.rows, part.columns);
}

void conv2d_input_gradient(const ExecSpace& exec, const ConvShape& given, int batch_rows,
                           const float* dy, const float* weights, const float* x_mask, float* dx) {
  const ConvShape shape = as_product(given);
  const PanelGrid grid = gradient_grid(exec.concurrency(), shape, batch_rows);
  Kokkos::parallel_for(
      "quern::layers::conv2d_input_gradient", RangePolicy(exec, 0, grid.count()),
      [=](std::int64_t item) { input_gradient_part(shape, grid[item], dy, weights, x_mask, dx); });
}

}  // namespace quern::host

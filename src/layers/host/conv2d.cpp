// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d_kernels.hpp"

#include "layers/host/conv2d_few_rows.hpp"
#include "layers/host/conv2d_input_gradient.hpp"
#include "layers/host/conv2d_loops.hpp"
#include "layers/host/conv2d_panels.hpp"
#include "layers/host/conv2d_weight_gradient.hpp"
#include "layers/host/scratch.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::kConvChannels;

std::int64_t forward_floats(const ConvShape& shape) {
  return std::int64_t{shape.taps()} * shape.out_channels;
}

void pack_forward(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                  float* packed) {
  const int taps = shape.taps();
  const EvenSplit tiles(shape.out_channels, kConvChannels);
  Kokkos::parallel_for("quern::layers::conv2d_pack_forward", RangePolicy(exec, 0, tiles.pieces),
                       [=](std::int64_t tile) {
                         const int first = tiles.begin(static_cast<int>(tile));
                         const int channels = tiles.size(static_cast<int>(tile));
                         float* out = packed + std::int64_t{first} * taps;
                         for (int tap = 0; tap < taps; ++tap) {
                           for (int c = 0; c < channels; ++c)
                             *out++ = weight[std::int64_t{first + c} * taps + tap];
                         }
                       });
}

// The outputs of a part, from their panel of x. Not inlined: in a large caller, as the one with
// Kokkos' serial back end is, GCC 12 stores the sums of a tile at every step.
template <int K>
[[gnu::noinline]] void forward_part(const ConvShape& shape, const PanelPlace& at, const float* x,
                                    const float* weights, const float* bias, bool with_relu,
                                    float* y) {
  // A kernel of one pixel reads every stride-th pixel only.
  const int step = K == 1 ? shape.stride : 1;
  ConvShape part = shape;
  part.stride = shape.stride / step;
  part.in_height = (at.rows - 1) * part.stride + shape.kernel;
  part.in_width = (at.columns - 1) * part.stride + shape.kernel;
  part.padding = 0;
  float* panel = scratch(part.in_group());
  copy_window({x + at.group * shape.image_group(), shape.in_channels, shape.image_height(),
               shape.image_width()},
              {at.row * shape.stride - shape.padding, part.in_height,
               at.column * shape.stride - shape.padding, part.in_width, step},
              panel);
  float* corner = y + at.group * shape.out_group() + shape.out(0, at.row, at.column);
  const std::int64_t taps = shape.taps();
  // Rows and columns run fastest: the weights of a tile stay in cache.
  for_each_channel_tile(shape.out_channels, [&]<int C>(int o) {
    for (int row = 0; row < at.rows; ++row) {
      for_each_column_tile(at.columns, [&]<int T>(int column) {
        simd::conv_forward_tile<C, T, K>(part, panel, weights + o * taps, bias, with_relu, corner,
                                         o, row, column);
      });
    }
  });
}

std::int64_t forward_panel_floats(const ConvShape& shape, int rows, int columns) {
  const auto extent = [&](int outputs) {
    return shape.kernel == 1 ? outputs : (outputs - 1) * shape.stride + shape.kernel;
  };
  return PlaneWindow{0, extent(rows), 0, extent(columns)}.floats(shape.in_channels);
}

PanelGrid forward_grid(int threads, const ConvShape& shape, int batch_rows) {
  return {batch_rows / kLanes, shape.out_height, shape.out_width, threads,
          [&](int rows, int columns) { return forward_panel_floats(shape, rows, columns); }};
}

void forward(const ExecSpace& exec, const ConvShape& given, int batch_rows, const float* x,
             const float* weights, const float* bias, bool with_relu, float* y) {
  const ConvShape shape = as_product(given);
  const PanelGrid grid = forward_grid(exec.concurrency(), shape, batch_rows);
  with_kernel_size(shape.kernel, [&]<int K>() {
    Kokkos::parallel_for("quern::layers::conv2d_forward", RangePolicy(exec, 0, grid.count()),
                         [=](std::int64_t item) {
                           forward_part<K>(shape, grid[item], x, weights, bias, with_relu, y);
                         });
  });
}

std::int64_t scratch_floats(int threads, const ConvShape& given, const BatchLimit& most) {
  const ConvShape shape = as_product(given);
  const PanelPlace part = forward_grid(threads, shape, most.rows).largest();
  return std::max({forward_panel_floats(shape, part.rows, part.columns),
                   conv2d_input_gradient_scratch(threads, shape, most.rows),
                   conv2d_weight_gradient_scratch(threads, shape, most),
                   conv2d_few_rows_scratch(threads, shape, most)});
}

std::int64_t no_workspace(const ConvShape&, int) {
  return 0;
}

void bias_gradient(const ExecSpace& exec, const ConvShape& shape, const BlockSchedule& schedule,
                   const float* dy, const GradientSums& partial_sums, std::int64_t offset) {
  const int pixels = shape.out_height * shape.out_width;
  const int groups = schedule.block_rows / kLanes;
  Kokkos::parallel_for(
      "quern::layers::conv2d_bias_gradient", RangePolicy(exec, 0, shape.out_channels),
      [=](std::int64_t o) {
        BlockStack<1> stack;
        for (int block = 0; block < schedule.num_blocks; ++block) {
          const float* plane = dy + std::int64_t{block} * groups * shape.out_group() +
                               shape.out(static_cast<int>(o), 0, 0);
          const float total = sum_of_planes(plane, groups, shape.out_group(), pixels);
          stack.push(&total, 1, schedule.host_merges(block));
        }
        for (int p = 0; p < stack.top; ++p) {
          partial_sums.data.data()[p * partial_sums.stride + offset + o] = stack.rows[p][0];
        }
      });
}

template <class Copy>
void for_each_image_row(const ExecSpace& exec, const char* label, std::int64_t planes, int height,
                        int width, int padding, Copy copy) {
  const int padded_width = width + 2 * padding;
  const int padded_height = height + 2 * padding;
  Kokkos::parallel_for(label, RangePolicy(exec, 0, planes), [=](std::int64_t plane) {
    for (int h = 0; h < height; ++h) {
      const std::int64_t row = (plane * height + h) * width;
      const std::int64_t padded_row =
          (plane * padded_height + h + padding) * padded_width + padding;
      copy(kLanes * row, kLanes * padded_row, kLanes * width);
    }
  });
}

void pad(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
         const float* x, float* padded) {
  for_each_image_row(exec, "quern::layers::pad_image", planes, height, width, padding,
                     [=](std::int64_t row, std::int64_t padded_row, int count) {
                       std::copy(x + row, x + row + count, padded + padded_row);
                     });
}

void crop(const ExecSpace& exec, std::int64_t planes, int height, int width, int padding,
          const float* padded, float* x) {
  for_each_image_row(exec, "quern::layers::crop_image", planes, height, width, padding,
                     [=](std::int64_t row, std::int64_t padded_row, int count) {
                       std::copy(padded + padded_row, padded + padded_row + count, x + row);
                     });
}

}  // namespace

const Conv2dKernels& conv2d_kernels() {
  static const Conv2dKernels kernels = {
      .adds_borders = true,
      .few_rows = &conv2d_few_rows_kernels(),
      .scratch_floats = scratch_floats,
      .forward_floats = forward_floats,
      .pack_forward = pack_forward,
      .gradient_floats = conv2d_gradient_floats,
      .pack_gradient = conv2d_pack_gradient,
      .forward = forward,
      .input_gradient = conv2d_input_gradient,
      .workspace_floats = no_workspace,
      .weight_gradient = conv2d_weight_gradient,
      .bias_gradient = bias_gradient,
      .pad = pad,
      .crop = crop,
  };
  return kernels;
}

}  // namespace quern::host

// SPDX-License-Identifier: Apache-2.0
#include "layers/conv2d_kernels.hpp"

#include "layers/host/conv2d_input_gradient.hpp"
#include "layers/host/conv2d_loops.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::kConvChannels;

constexpr int kTapRows = 5;  // kernel rows that a work item takes at most

// Where a tile of the weight gradient begins; `rows` kernel rows in turn, which read the same
// planes.
struct WeightPlace {
  int o;
  int i;
  int kh;
  int kw;
  int rows;
};

template <int C, int T>
void weight_gradient_item(const ConvShape& s, const BlockSchedule& schedule, const float* x,
                          const float* dy, const GradientSums& partial_sums, std::int64_t offset,
                          const WeightPlace& place) {
  const int groups = schedule.block_rows / kLanes;
  BlockStack<C * T> stacks[kTapRows];
  for (int block = 0; block < schedule.num_blocks; ++block) {
    const std::int64_t first = std::int64_t{block} * groups;
    for (int row = 0; row < place.rows; ++row) {
      float sums[C * T];
      simd::conv_weight_gradient_tile<C, T>(s, x + first * s.in_group(), dy + first * s.out_group(),
                                            groups, place.o, place.i, place.kh + row, place.kw,
                                            sums);
      stacks[row].push(sums, C * T, schedule.host_merges(block));
    }
  }
  for (int row = 0; row < place.rows; ++row) {
    store_partial_sums<C, T>(stacks[row], s, partial_sums, offset, place.o, place.i, place.kh + row,
                             place.kw);
  }
}

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

void forward(const ExecSpace& exec, const ConvShape& shape, int batch_rows, const float* x,
             const float* weights, const float* bias, bool with_relu, float* y) {
  const std::int64_t items = std::int64_t{batch_rows / kLanes} * shape.out_height;
  const std::int64_t taps = shape.taps();
  with_kernel_size(shape.kernel, [&]<int K>() {
    Kokkos::parallel_for(
        "quern::layers::conv2d_forward", RangePolicy(exec, 0, items), [=](std::int64_t item) {
          const int oh = static_cast<int>(item % shape.out_height);
          const std::int64_t group = item / shape.out_height;
          for_each_tile(shape.out_channels, shape.out_width, [&]<int C, int T>(int o, int ow) {
            simd::conv_forward_tile<C, T, K>(shape, x + group * shape.in_group(),
                                             weights + o * taps, bias, with_relu,
                                             y + group * shape.out_group(), o, oh, ow);
          });
        });
  });
}

std::int64_t no_workspace(const ConvShape&, int) {
  return 0;
}

void weight_gradient(const ExecSpace& exec, const ConvShape& shape, const BlockSchedule& schedule,
                     const float* x, const float* dy, const GradientSums& partial_sums,
                     std::int64_t offset, const FloatView&) {
  const EvenSplit columns(shape.kernel, kTapColumns);
  const int widest = (shape.kernel + columns.pieces - 1) / columns.pieces;
  const EvenSplit channels(shape.out_channels, largest_channels(widest));
  // Several kernel rows in an item read the same planes while these are in cache; but all threads
  // shall find items.
  const std::int64_t planes = std::int64_t{channels.pieces} * shape.in_channels * columns.pieces;
  const bool enough = planes >= std::int64_t{4} * exec.concurrency();
  const EvenSplit rows(shape.kernel, enough ? kTapRows : 1);
  const std::int64_t taps = std::int64_t{shape.in_channels} * rows.pieces * columns.pieces;
  Kokkos::parallel_for(
      "quern::layers::conv2d_weight_gradient", RangePolicy(exec, 0, channels.pieces * taps),
      [=](std::int64_t item) {
        const int channel_piece = static_cast<int>(item / taps);
        int rest = static_cast<int>(item % taps);
        const int column_piece = rest % columns.pieces;
        rest /= columns.pieces;
        const int row_piece = rest % rows.pieces;
        const WeightPlace place{channels.begin(channel_piece), rest / rows.pieces,
                                rows.begin(row_piece), columns.begin(column_piece),
                                rows.size(row_piece)};
        simd::with_constant<kTapColumns>(columns.size(column_piece), [&]<int T>() {
          simd::with_constant<largest_channels(T)>(channels.size(channel_piece), [&]<int C>() {
            weight_gradient_item<C, T>(shape, schedule, x, dy, partial_sums, offset, place);
          });
        });
      });
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
  static constexpr Conv2dKernels kKernels = {
      .forward_floats = forward_floats,
      .pack_forward = pack_forward,
      .gradient_floats = conv2d_gradient_floats,
      .pack_gradient = conv2d_pack_gradient,
      .forward = forward,
      .input_gradient = conv2d_input_gradient,
      .workspace_floats = no_workspace,
      .weight_gradient = weight_gradient,
      .bias_gradient = bias_gradient,
      .pad = pad,
      .crop = crop,
  };
  return kKernels;
}

}  // namespace quern::host

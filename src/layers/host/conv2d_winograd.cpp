// SPDX-License-Identifier: Apache-2.0
// A work item has a rectangle of tiles of one group of samples. It transforms their inputs once;
// then, for a register tile of output channels and tiles at a time, come the products of all 16
// positions and their transform to outputs. The input gradient is the same convolution of dy with
// the kernel turned by half a circle, inside a border of 2 - padding.
#include "layers/host/conv2d_winograd.hpp"

#include <algorithm>

#include "layers/host/conv2d_loops.hpp"
#include "layers/host/conv2d_winograd_weights.hpp"
#include "layers/host/scratch.hpp"
#include "layers/host/winograd_transforms.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::kConvChannels;
using simd::kConvColumns;
using simd::kWidth;
using simd::Register;

constexpr int kKernel = 3;
constexpr int kLeastChannels = 16;
// Of a work item: its transformed inputs are to stay in the second-level cache.
constexpr int kItemTiles = 14;

const Conv2dKernels& direct() {
  return conv2d_kernels();
}

// What is read and written, with no borders in memory.
struct ConvPlanes {
  int in_channels;
  int in_height;
  int in_width;
  int padding;
  int out_channels;
  int out_height;
  int out_width;

  std::int64_t in_group() const {
    return std::int64_t{kWidth} * in_channels * in_height * in_width;
  }
  std::int64_t out(int channel, int h, int w) const {
    return kWidth * ((std::int64_t{channel} * out_height + h) * out_width + w);
  }
  std::int64_t out_group() const { return out(out_channels, 0, 0); }
};

ConvPlanes forward_planes(const ConvShape& s) {
  return {s.in_channels,  s.image_height(), s.image_width(), s.padding,
          s.out_channels, s.out_height,     s.out_width};
}

ConvPlanes gradient_planes(const ConvShape& s) {
  return {s.out_channels, s.out_height,     s.out_width,    kKernel - 1 - s.padding,
          s.in_channels,  s.image_height(), s.image_width()};
}

// What becomes of a sum: a bias, then a ReLU; or zero where `mask`, laid out like the outputs, is
// not above 0.
struct Finish {
  const float* bias = nullptr;
  bool with_relu = false;
  const float* mask = nullptr;
};

// The tiles of all groups, cut into items.
class TileGrid {
 public:
  TileGrid(int groups, const ConvPlanes& planes)
      : groups_(groups),
        columns_((planes.out_width + 1) / 2, kItemTiles),
        rows_((planes.out_height + 1) / 2, std::max(1, kItemTiles / columns_.size(0))) {}

  std::int64_t count() const { return std::int64_t{groups_} * rows_.pieces * columns_.pieces; }
  int most_tiles() const { return rows_.size(0) * columns_.size(0); }

  struct Place {
    std::int64_t group;
    TilePart part;
  };
  Place operator[](std::int64_t item) const {
    const int column = static_cast<int>(item % columns_.pieces);
    item /= columns_.pieces;
    const int row = static_cast<int>(item % rows_.pieces);
    return {item / rows_.pieces,
            {rows_.begin(row), rows_.size(row), columns_.begin(column), columns_.size(column)}};
  }

 private:
  int groups_;
  EvenSplit columns_;
  EvenSplit rows_;
};

// Sums of a register tile at all positions.
constexpr std::int64_t kSumFloats =
    std::int64_t{kWinogradPositions} * kConvChannels * kConvColumns * kWidth;

std::int64_t zero_floats(const ConvPlanes& planes) {
  return std::int64_t{kWidth} * planes.in_width;
}

std::int64_t item_floats(const ConvPlanes& planes, int tiles) {
  return TilePositions{nullptr, planes.in_channels, tiles}.floats() + kSumFloats +
         zero_floats(planes);
}

// sums[position][C][T] = weights * inputs for T tiles, one product for each position.
template <int C, int T>
[[gnu::noinline]] void multiply_positions(const TilePositions& inputs, int tile,
                                          const float* weights, float* sums) {
  const int channels = inputs.channels;
  // A convolution with a kernel of one pixel.
  const ConvShape product{channels, 1, inputs.tiles, C, 1, T, 1, 1, 0};
  for (int position = 0; position < kWinogradPositions; ++position) {
    simd::conv_forward_tile<C, T, 1>(product, inputs.at(0, tile) + position * inputs.position(),
                                     weights + std::int64_t{position} * channels * C, nullptr,
                                     false, sums + std::int64_t{position} * C * T * kWidth, 0, 0,
                                     0);
  }
}

// The outputs of T tiles from `tile` of `part` on, of the channels from o on. y: of a group.
template <int C, int T>
[[gnu::noinline]] void store_outputs(const ConvPlanes& planes, const TilePart& part, int tile,
                                     int o, const float* sums, const Finish& finish, float* y) {
  for (int t = 0; t < T; ++t) {
    const int h = 2 * (part.row + (tile + t) / part.columns);
    const int w = 2 * (part.column + (tile + t) % part.columns);
    const int rows = std::min(2, planes.out_height - h);
    const int columns = std::min(2, planes.out_width - w);
    for (int c = 0; c < C; ++c) {
      const std::int64_t corner = planes.out(o + c, h, w);
      for (int lane = 0; lane < kWidth; lane += simd::kRegisterLanes) {
        Register values[2][2];
        winograd_output(sums + (c * T + t) * kWidth + lane, std::int64_t{C} * T * kWidth, values);
        const Register b = finish.bias ? simd::broadcast<Register>(finish.bias[o + c]) : Register{};
        QUERN_UNROLL
        for (int i = 0; i < 2; ++i) {
          QUERN_UNROLL
          for (int j = 0; j < 2; ++j) {
            if (i >= rows || j >= columns) continue;
            const std::int64_t place = corner + planes.out(0, i, j) + lane;
            Register value = values[i][j] + b;
            if (finish.with_relu) value = simd::relu(value);
            if (finish.mask) {
              value = simd::relu_backward(simd::load<Register>(finish.mask + place), value);
            }
            simd::store(y + place, value);
          }
        }
      }
    }
  }
}

// The lines that store_outputs() will write come while their products are computed.
void fetch_outputs(const ConvPlanes& planes, const TilePart& part, int tile, int tiles, int o,
                   int channels, float* y) {
  for (int t = tile; t < tile + tiles; ++t) {
    const int h = 2 * (part.row + t / part.columns);
    const int w = 2 * (part.column + t % part.columns);
    const int below = h + 1 < planes.out_height ? 1 : 0;
    const int beside = w + 1 < planes.out_width ? 1 : 0;
    for (int c = o; c < o + channels; ++c) {
      simd::prefetch_to_write(y + planes.out(c, h, w));
      simd::prefetch_to_write(y + planes.out(c, h, w + beside));
      simd::prefetch_to_write(y + planes.out(c, h + below, w));
      simd::prefetch_to_write(y + planes.out(c, h + below, w + beside));
    }
  }
}

void convolve_part(const ConvPlanes& planes, const TilePart& part, const float* x,
                   const float* weights, const Finish& finish, float* y) {
  const int tiles = part.tiles();
  float* zeros = scratch(item_floats(planes, tiles));
  float* sums = zeros + zero_floats(planes);
  const TilePositions inputs{sums + kSumFloats, planes.in_channels, tiles};
  std::fill_n(zeros, zero_floats(planes), 0.0f);
  winograd_transform_input(
      {x, planes.in_channels, planes.in_height, planes.in_width, planes.padding}, part, zeros,
      inputs, 0);
  for_each_channel_tile(planes.out_channels, [&]<int C>(int o) {
    const float* tile_weights = weights + std::int64_t{o} * kWinogradPositions * planes.in_channels;
    for_each_column_tile(tiles, [&]<int T>(int tile) {
      fetch_outputs(planes, part, tile, T, o, C, y);
      multiply_positions<C, T>(inputs, tile, tile_weights, sums);
      store_outputs<C, T>(planes, part, tile, o, sums, finish, y);
    });
  });
}

void convolve(const ExecSpace& exec, const char* label, const ConvPlanes& planes, int batch_rows,
              const float* x, const float* weights, const Finish& finish, float* y) {
  const TileGrid grid(batch_rows / kLanes, planes);
  Kokkos::parallel_for(label, RangePolicy(exec, 0, grid.count()), [=](std::int64_t item) {
    const TileGrid::Place at = grid[item];
    Finish of_group = finish;
    if (finish.mask) of_group.mask += at.group * planes.out_group();
    convolve_part(planes, at.part, x + at.group * planes.in_group(), weights, of_group,
                  y + at.group * planes.out_group());
  });
}

std::int64_t winograd_forward_floats(const ConvShape& shape) {
  return suits_winograd(shape) ? winograd_packed_floats(shape) : direct().forward_floats(shape);
}

void winograd_pack_forward(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                           float* packed) {
  if (!suits_winograd(shape)) return direct().pack_forward(exec, shape, weight, packed);
  pack_winograd_forward(exec, shape, weight, packed);
}

void winograd_forward(const ExecSpace& exec, const ConvShape& shape, int batch_rows, const float* x,
                      const float* weights, const float* bias, bool with_relu, float* y) {
  if (!suits_winograd(shape))
    return direct().forward(exec, shape, batch_rows, x, weights, bias, with_relu, y);
  convolve(exec, "quern::layers::conv2d_winograd_forward", forward_planes(shape), batch_rows, x,
           weights, {bias, with_relu, nullptr}, y);
}

std::int64_t winograd_gradient_floats(const ConvShape& shape) {
  return suits_winograd(shape) ? winograd_packed_floats(shape) : direct().gradient_floats(shape);
}

void winograd_pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                            float* packed) {
  if (!suits_winograd(shape)) return direct().pack_gradient(exec, shape, weight, packed);
  pack_winograd_gradient(exec, shape, weight, packed);
}

void winograd_input_gradient(const ExecSpace& exec, const ConvShape& shape, int batch_rows,
                             const float* dy, const float* weights, const float* x_mask,
                             float* dx) {
  if (!suits_winograd(shape))
    return direct().input_gradient(exec, shape, batch_rows, dy, weights, x_mask, dx);
  convolve(exec, "quern::layers::conv2d_winograd_input_gradient", gradient_planes(shape),
           batch_rows, dy, weights, {nullptr, false, x_mask}, dx);
}

void winograd_weight_gradient_or_direct(const ExecSpace& exec, const ConvShape& shape,
                                        const BlockSchedule& schedule, const float* x,
                                        const float* dy, const GradientSums& partial_sums,
                                        std::int64_t offset, const FloatView& workspace) {
  if (suits_winograd_gradient(shape, schedule.block_rows)) {
    conv2d_winograd_weight_gradient(exec, shape, schedule, x, dy, partial_sums, offset);
  } else {
    direct().weight_gradient(exec, shape, schedule, x, dy, partial_sums, offset, workspace);
  }
}

std::int64_t winograd_scratch_floats(int threads, const ConvShape& shape, const BatchLimit& most) {
  const std::int64_t others = direct().scratch_floats(threads, shape, most);
  if (!suits_winograd(shape)) return others;
  const auto floats = [](const ConvPlanes& planes) {
    return item_floats(planes, TileGrid(1, planes).most_tiles());
  };
  return std::max({others, floats(forward_planes(shape)), floats(gradient_planes(shape)),
                   conv2d_winograd_gradient_scratch(threads, shape, most)});
}

int winograd_few_forward(const ConvShape& shape) {
  return suits_winograd(shape) ? 0 : direct().few_rows->most_forward(shape);
}

int winograd_few_gradient(const ConvShape& shape) {
  return suits_winograd(shape) ? 0 : direct().few_rows->most_gradient(shape);
}

const Conv2dFewRowsKernels& winograd_few_rows_kernels() {
  static const Conv2dFewRowsKernels kernels = [] {
    Conv2dFewRowsKernels few = *direct().few_rows;
    few.most_forward = winograd_few_forward;
    few.most_gradient = winograd_few_gradient;
    return few;
  }();
  return kernels;
}

}  // namespace

bool suits_winograd(const ConvShape& shape) {
  return shape.kernel == kKernel && shape.stride == 1 && shape.padding < kKernel &&
         std::min(shape.in_channels, shape.out_channels) >= kLeastChannels;
}

const Conv2dKernels& conv2d_winograd_kernels() {
  static const Conv2dKernels kernels = [] {
    Conv2dKernels set = direct();
    set.few_rows = &winograd_few_rows_kernels();
    set.scratch_floats = winograd_scratch_floats;
    set.forward_floats = winograd_forward_floats;
    set.pack_forward = winograd_pack_forward;
    set.gradient_floats = winograd_gradient_floats;
    set.pack_gradient = winograd_pack_gradient;
    set.forward = winograd_forward;
    set.input_gradient = winograd_input_gradient;
    set.weight_gradient = winograd_weight_gradient_or_direct;
    return set;
  }();
  return kernels;
}

}  // namespace quern::host

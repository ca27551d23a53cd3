// SPDX-License-Identifier: Apache-2.0
#include "layers/device/conv2d_tensor.hpp"

#include <algorithm>
#include <limits>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "layers/device/conv2d_tensor_gradient.hpp"
#include "layers/device/conv2d_tensor_products.hpp"
#include "linalg/device/slice_tree.hpp"

namespace quern::device {

namespace {

// Rows of a team's tile: few channels leave a large one half empty.
constexpr int kFewRowTiles = 2;
constexpr int kManyRowTiles = 4;

/// Calls run.operator()<row tiles>() for so many channels.
template <class Run>
void with_row_tiles(int channels, const Run& run) {
  if (channels <= 16 * kFewRowTiles)
    run.template operator()<kFewRowTiles>();
  else
    run.template operator()<kManyRowTiles>();
}

template <class Operand, class Problem>
void launch(const ExecSpace& exec, const std::string& label, std::int64_t teams,
            const Problem& problem) {
  for_each_team(exec, label, teams, TensorProduct<Problem, Operand>{problem});
}

// Packed weights of forward: offsets of the taps (as ints), then the rows.
std::int64_t offset_floats(const ConvShape& shape) {
  return round_up_to_lanes(shape.taps());
}

int forward_depth(const ConvShape& shape) {
  return whole_panels(shape.taps()) * kPanelDepth;
}

// Of the input gradient: for each input channel, panels of output channels for each tap.
int gradient_depth(const ConvShape& shape) {
  const std::int64_t depth =
      std::int64_t{shape.kernel} * shape.kernel * whole_panels(shape.out_channels) * kPanelDepth;
  expect(depth <= std::numeric_limits<int>::max(),
         "weights of an input channel that an int counts");
  return static_cast<int>(depth);
}

// A device is busy with so many teams, and a team with so many pixels.
constexpr int kSliceTeams = 256;
constexpr int kSlicePixels = 32;

int gradient_tiles(const ConvShape& shape) {
  int rows = 0;
  with_row_tiles(shape.out_channels, [&]<int RowTiles>() { rows = 16 * RowTiles; });
  return ceil_div(shape.out_channels, rows) * ceil_div(shape.taps(), kTeamColumns);
}

int most_slices(const ConvShape& shape) {
  return ceil_div(kSliceTeams, gradient_tiles(shape));
}

BlockSlices cut_block(const ConvShape& shape, int groups) {
  const int pixels = groups * shape.out_height * shape.out_width;
  const int wanted = std::clamp(ceil_div(pixels, kSlicePixels), 1, most_slices(shape));
  const int slice_pixels = ceil_div(pixels, wanted);
  return {groups, pixels, ceil_div(pixels, slice_pixels), slice_pixels};
}

}  // namespace

template <class Operand>
std::int64_t TensorConv2d<Operand>::forward_floats(const ConvShape& shape) {
  return offset_floats(shape) +
         std::int64_t{padded_rows(shape.out_channels)} * forward_depth(shape);
}

template <class Operand>
std::int64_t TensorConv2d<Operand>::gradient_floats(const ConvShape& shape) {
  return std::int64_t{padded_rows(shape.in_channels)} * gradient_depth(shape);
}

template <class Operand>
void TensorConv2d<Operand>::pack_forward(const ExecSpace& exec, const ConvShape& shape,
                                         const float* weight, float* packed) {
  const int taps = shape.taps();
  const int depth = forward_depth(shape);
  auto* offsets = reinterpret_cast<int*>(packed);
  float* rows = packed + offset_floats(shape);
  Kokkos::parallel_for(
      "quern::layers::conv2d_pack_forward",
      RangePolicy(exec, 0, std::int64_t{padded_rows(shape.out_channels)} * depth),
      KOKKOS_LAMBDA(std::int64_t e) {
        const std::int64_t o = e / depth;
        const int tap = static_cast<int>(e % depth);
        rows[e] = o < shape.out_channels && tap < taps ? weight[o * taps + tap] : 0;
        if (o == 0 && tap < taps) {
          const int plane = shape.kernel * shape.kernel;
          offsets[tap] = static_cast<int>(
              shape.in(tap / plane, tap % plane / shape.kernel, tap % shape.kernel));
        }
      });
}

template <class Operand>
void TensorConv2d<Operand>::pack_gradient(const ExecSpace& exec, const ConvShape& shape,
                                          const float* weight, float* packed) {
  const int depth = gradient_depth(shape);
  const int tap_depth = depth / (shape.kernel * shape.kernel);
  Kokkos::parallel_for(
      "quern::layers::conv2d_pack_gradient",
      RangePolicy(exec, 0, std::int64_t{padded_rows(shape.in_channels)} * depth),
      KOKKOS_LAMBDA(std::int64_t e) {
        const int i = static_cast<int>(e / depth);
        const int tap = static_cast<int>(e % depth) / tap_depth;
        const int o = static_cast<int>(e % depth) % tap_depth;
        packed[e] = i < shape.in_channels && o < shape.out_channels
                        ? weight[shape.weight(o, i, tap / shape.kernel, tap % shape.kernel)]
                        : 0;
      });
}

template <class Operand>
void TensorConv2d<Operand>::forward(const ExecSpace& exec, const ConvShape& shape, int batch_rows,
                                    const float* x, const float* weights, const float* bias,
                                    bool with_relu, float* y) {
  const int depth = forward_depth(shape);
  const ForwardPatches patches{shape, x, reinterpret_cast<const int*>(weights)};
  with_row_tiles(shape.out_channels, [&]<int RowTiles>() {
    const PixelTeams<RowTiles> teams{shape.out_channels, patches.tiles().teams(),
                                     batch_rows / kLanes, depth / kPanelDepth};
    const ForwardProblem<RowTiles> problem{
        {weights + offset_floats(shape), depth}, patches, teams, bias, with_relu, y};
    launch<Operand>(exec, "quern::layers::conv2d_forward", teams.count(), problem);
  });
}

template <class Operand>
void TensorConv2d<Operand>::input_gradient(const ExecSpace& exec, const ConvShape& shape,
                                           int batch_rows, const float* dy, const float* weights,
                                           const float* x_mask, float* dx) {
  const int depth = gradient_depth(shape);
  const GradientPatches patches{shape, dy};
  with_row_tiles(shape.in_channels, [&]<int RowTiles>() {
    const PixelTeams<RowTiles> teams{shape.in_channels, patches.tiles().teams(),
                                     batch_rows / kLanes, depth / kPanelDepth};
    const InputGradientProblem<RowTiles> problem{{weights, depth}, patches, teams, x_mask, dx};
    launch<Operand>(exec, "quern::layers::conv2d_input_gradient", teams.count(), problem);
  });
}

template <class Operand>
std::int64_t TensorConv2d<Operand>::workspace_floats(const ConvShape& shape, int max_rows) {
  const std::int64_t groups = max_rows / kLanes;  // and so at most as many blocks
  const std::int64_t pixels = std::int64_t{shape.out_height} * shape.out_width;
  const std::int64_t all_slices = groups * ceil_div(pixels, kSlicePixels);
  const std::int64_t round_slices = kRoundTeams / gradient_tiles(shape) + most_slices(shape) + 1;
  const std::int64_t values = std::int64_t{shape.out_channels} * shape.taps();
  return (std::min(all_slices, round_slices) + most_depth(static_cast<int>(groups))) * values;
}

template <class Operand>
void TensorConv2d<Operand>::weight_gradient(const ExecSpace& exec, const ConvShape& shape,
                                            const BlockSchedule& schedule, const float* x,
                                            const float* dy, const GradientSums& partial_sums,
                                            std::int64_t offset, const FloatView& workspace) {
  const BlockSlices cut = cut_block(shape, schedule.block_rows / kLanes);
  const std::int64_t values = std::int64_t{shape.out_channels} * shape.taps();
  const int round = blocks_of_round(gradient_tiles(shape) * cut.slices, schedule.num_blocks);
  float* stack = workspace.data();
  float* slices = stack + schedule.depth * values;
  expect((schedule.depth + std::int64_t{round} * cut.slices) * values <=
             static_cast<std::int64_t>(workspace.extent(0)),
         "workspace for the slices of a round");
  const ChannelLanes a{
      {dy, shape.out_group(), shape.out_width, 1, shape.out_height, shape.out_width},
      shape.out_channels,
      kLanes * shape.out_height * shape.out_width};
  const TapLanes b{
      {x, shape.in_group(), shape.in_width, shape.stride, shape.out_height, shape.out_width},
      shape};
  for (int begin = 0; begin < schedule.num_blocks; begin += round) {
    const int end = std::min(begin + round, schedule.num_blocks);
    with_row_tiles(shape.out_channels, [&]<int RowTiles>() {
      const WeightGradientProblem<RowTiles> problem{a, b, cut, begin, end - begin, slices};
      launch<Operand>(exec, "quern::layers::conv2d_weight_gradient", problem.num_teams(), problem);
    });
    SliceTree{slices, cut.slices, values, stack}.push(exec, "quern::layers::conv2d_weight_sum",
                                                      schedule, begin, end, partial_sums, offset);
  }
}

template struct TensorConv2d<Tf32Operand>;
template struct TensorConv2d<Bf16Operand>;

}  // namespace quern::device

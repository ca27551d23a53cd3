// SPDX-License-Identifier: Apache-2.0
// Weight and bias gradients of a convolution on a device.
//
// A team computes a tile of them, Channels x Taps. Each of its threads adds up one lane of one
// micro-block over groups and pixels, as a lane of a CPU's vector does; then lanes are added in the
// fixed tree of simd::sum_lanes, and blocks in the block tree.
#pragma once

#include "base/ceil_div.hpp"
#include "layers/conv_shape.hpp"
#include "linalg/device/block_stack.hpp"
#include "tensor/team.hpp"

namespace quern::device {

/// Sum of 16 lanes in the order of simd::sum_lanes().
KOKKOS_INLINE_FUNCTION float sum_lanes(const float* lane) {
  float quarter[4];
  for (int l = 0; l < 4; ++l) quarter[l] = (lane[l] + lane[l + 8]) + (lane[l + 4] + lane[l + 12]);
  return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

/// Ones: the gradient of the bias, which is that of a single tap whose input is always 1.
template <int Channels, int Taps, bool Ones, int Threads = kTeamThreads<128>>
struct ConvWeightGradient {
  static constexpr int kThreads = Threads;
  static constexpr int kRound = 8;  ///< blocks side by side
  static constexpr int kTile = Channels * Taps;
  static constexpr int kLaneStride = kLanes + 1;  // no two lanes of a sum in one memory bank
  static constexpr int kLaneFloats = kRound * kTile * kLaneStride;
  using Stack = BlockStack<kTile, kRound, Threads>;
  static constexpr std::size_t kScratchBytes = Stack::kScratchBytes + scratch_bytes(kLaneFloats, 1);

  ConvShape shape;
  BlockTraversal traversal;
  int groups;  ///< of a block
  const float* x;
  const float* dy;
  float* sums;  ///< the first weight of the first partial sum
  std::int64_t partial_stride;

  KOKKOS_INLINE_FUNCTION int num_taps() const { return Ones ? 1 : shape.taps(); }
  KOKKOS_INLINE_FUNCTION int tap_tiles() const { return ceil_div(num_taps(), Taps); }
  std::int64_t num_teams() const {
    return std::int64_t{ceil_div(shape.out_channels, Channels)} * tap_tiles();
  }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const int first_o = team.league_rank() / tap_tiles() * Channels;
    const int first_tap = team.league_rank() % tap_tiles() * Taps;
    Stack stack(team);
    float* lanes = scratch_floats(team, kLaneFloats);
    for (int begin = 0; begin < traversal.num_blocks; begin += kRound) {
      for (int item = team.team_rank(); item < kRound * kLanes; item += Threads) {
        const int block = begin + item / kLanes;
        if (block < traversal.num_blocks)
          sum_lane(block, item % kLanes, first_o, first_tap,
                   lanes + item / kLanes * kTile * kLaneStride);
      }
      team.team_barrier();
      for (int item = team.team_rank(); item < kRound * kTile; item += Threads) {
        if (begin + item / kTile < traversal.num_blocks)
          stack.round(item / kTile)[item % kTile] = sum_lanes(lanes + item * kLaneStride);
      }
      stack.push_round(team, traversal, begin);
    }
    stack.store(team, traversal, [&](int partial, int v, float sum) {
      const int o = first_o + v / Taps;
      const int tap = first_tap + v % Taps;
      if (o < shape.out_channels && tap < num_taps())
        sums[partial * partial_stride + std::int64_t{o} * num_taps() + tap] = sum;
    });
  }

  /// Sums of one lane over the groups and pixels of a block: lanes[v * kLaneStride + lane].
  KOKKOS_INLINE_FUNCTION void sum_lane(int block, int lane, int first_o, int first_tap,
                                       float* lanes) const {
    // What is outside repeats the last channel or tap, and is not stored at the end.
    std::int64_t channel[Channels];
    for (int c = 0; c < Channels; ++c) {
      const int o = first_o + c < shape.out_channels ? first_o + c : shape.out_channels - 1;
      channel[c] = shape.out(o, 0, 0);
    }
    std::int64_t tap_offset[Taps];
    for (int t = 0; t < Taps; ++t) {
      const int tap = first_tap + t < num_taps() ? first_tap + t : num_taps() - 1;
      const int in_plane = tap % (shape.kernel * shape.kernel);
      tap_offset[t] = shape.in(tap / (shape.kernel * shape.kernel), in_plane / shape.kernel,
                               in_plane % shape.kernel);
    }
    float sum[Channels][Taps] = {};
    for (int group = block * groups; group < (block + 1) * groups; ++group) {
      for (int oh = 0; oh < shape.out_height; ++oh) {
        const float* x_p = x + group * shape.in_group() + shape.in(0, oh * shape.stride, 0) + lane;
        const float* dy_p = dy + group * shape.out_group() + shape.out(0, oh, 0) + lane;
        for (int ow = 0; ow < shape.out_width; ++ow) {
          float x_t[Taps];
          for (int t = 0; t < Taps; ++t) x_t[t] = Ones ? 1.0f : x_p[tap_offset[t]];
          for (int c = 0; c < Channels; ++c) {
            const float dy_c = dy_p[channel[c]];
            for (int t = 0; t < Taps; ++t) sum[c][t] = Kokkos::fma(dy_c, x_t[t], sum[c][t]);
          }
          x_p += kLanes * shape.stride;
          dy_p += kLanes;
        }
      }
    }
    for (int c = 0; c < Channels; ++c)
      for (int t = 0; t < Taps; ++t) lanes[(c * Taps + t) * kLaneStride + lane] = sum[c][t];
  }
};

}  // namespace quern::device

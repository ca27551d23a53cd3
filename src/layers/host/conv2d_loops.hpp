// SPDX-License-Identifier: Apache-2.0
// How the convolutions of a CPU are cut into register tiles, and how the sums of blocks are added.
#pragma once

#include <algorithm>

#include "layers/host/conv2d_tiles.hpp"
#include "linalg/block_schedule.hpp"

namespace quern::host {

/// Calls f<C>(first channel) for every tile of `channels` channels.
template <class F>
void for_each_channel_tile(int channels, F&& f) {
  const simd::EvenSplit tiles(channels, simd::kConvChannels);
  for (int a = 0; a < tiles.pieces; ++a) {
    simd::with_constant<simd::kConvChannels>(
        tiles.size(a), [&]<int C>() { f.template operator()<C>(tiles.begin(a)); });
  }
}

/// Calls f<T>(first column) for every tile of `columns` columns.
template <class F>
void for_each_column_tile(int columns, F&& f) {
  const simd::EvenSplit tiles(columns, simd::kConvColumns);
  for (int b = 0; b < tiles.pieces; ++b) {
    simd::with_constant<simd::kConvColumns>(
        tiles.size(b), [&]<int T>() { f.template operator()<T>(tiles.begin(b)); });
  }
}

/// Calls f<K>(), K the size of a kernel for which loops over its rows and columns are worth writing
/// out, 0 for others.
template <class F>
void with_kernel_size(int kernel, F&& f) {
  if (kernel == 1) {
    f.template operator()<1>();
  } else if (kernel == 3) {
    f.template operator()<3>();
  } else if (kernel == 5) {
    f.template operator()<5>();
  } else if (kernel == 7) {
    f.template operator()<7>();
  } else {
    f.template operator()<0>();
  }
}

// Kernel columns and channels of a weight-gradient tile: whole kernel rows where they fit, because
// neighbouring columns read the same pixels, other channels read other gradients.
inline constexpr int kTapColumns = 5;
constexpr int largest_channels(int tap_columns) {
  return std::min(8, std::max(1, simd::kWeightTile / tap_columns));
}

/// Sums of `count` values per block, added by the tree; the stack holds one row per open node.
template <int Count>
struct BlockStack {
  float rows[BlockSchedule::kMaxDepth][Count];
  int top = 0;

  void push(const float* sums, int count, int merges) {
    float* row = rows[top];
    std::copy(sums, sums + count, row);
    for (int merge = 0; merge < merges; ++merge) {
      float* left = rows[top - 1];
      for (int k = 0; k < count; ++k) left[k] = left[k] + rows[top][k];
      --top;
    }
    ++top;
  }
};

/// The weight gradients of the channels o .. o + C - 1 and kernel columns kw .. kw + T - 1, a
/// partial sum per row of the stack, to `offset` of the partial sums. Overwrites.
template <int C, int T>
void store_partial_sums(const BlockStack<C * T>& stack, const ConvShape& s,
                        const GradientSums& partial_sums, std::int64_t offset, int o, int i, int kh,
                        int kw) {
  for (int p = 0; p < stack.top; ++p) {
    float* out =
        partial_sums.data.data() + p * partial_sums.stride + offset + s.weight(o, i, kh, kw);
    for (int c = 0; c < C; ++c) {
      for (int t = 0; t < T; ++t) out[s.weight(c, 0, 0, t)] = stack.rows[p][c * T + t];
    }
  }
}

/// The sum over the pixels of a channel's plane [groups, plane] in Layout::nchw16n: per lane in the
/// order of the pixels, then the lanes in a fixed tree.
inline float sum_of_planes(const float* plane, int groups, std::int64_t group_floats, int pixels) {
  simd::Vector sum{};
  for (int group = 0; group < groups; ++group) {
    const float* pixel = plane + group * group_floats;
    for (int k = 0; k < pixels; ++k, pixel += kLanes) sum += simd::load(pixel);
  }
  return simd::sum_lanes(sum);
}

}  // namespace quern::host

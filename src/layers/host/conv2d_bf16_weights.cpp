// SPDX-License-Identifier: Apache-2.0
#include "layers/host/conv2d_bf16_weights.hpp"

#include <algorithm>

#include "layers/host/scratch.hpp"

namespace quern::host {

namespace {

// A row of A tiles, filled value by value.
class WeightRow {
 public:
  explicit WeightRow(Bf16* tile) : tile_(tile) {}

  // `count` values `apart` floats from each other.
  void append(const float* values, std::int64_t apart, int count) {
    int k = 0;
    while (k < count) {
      if (apart == 1 && filled_ == 0 && count - k >= kTileDepth) {
        put(values + k);
        k += kTileDepth;
        continue;
      }
      const int end = std::min(count, k + kTileDepth - filled_);
      for (; k < end; ++k) waiting_[filled_++] = values[k * apart];
      if (filled_ == kTileDepth) flush();
    }
  }
  void append_zero() {
    waiting_[filled_++] = 0;
    if (filled_ == kTileDepth) flush();
  }
  void end() {
    if (filled_ == 0) return;
    std::fill(waiting_ + filled_, std::end(waiting_), 0.0f);
    flush();
  }

 private:
  void put(const float* values) {
    simd::store_pairs(tile_, simd::round_sequence(simd::load(values), simd::load(values + kLanes)));
    tile_ += kTileBf16;
  }
  void flush() {
    put(waiting_);
    filled_ = 0;
  }

  Bf16* tile_;
  alignas(64) float waiting_[kTileDepth];
  int filled_ = 0;
};

// The weights of output channel `o`, a row of each of its tiles.
void pack_forward_row(const ConvShape& s, const ForwardKernel& kernel, const float* weight,
                      Bf16* packed) {
  const int taps = s.kernel * s.kernel;
  for (int row = 0; row < kernel.tiles.rows; ++row) {
    WeightRow to(packed + std::int64_t{row} * kernel.tiles.row_tiles() * kTileBf16);
    for (int column = 0; column < s.kernel; ++column) {
      for (int kh = row; kh < row + kernel.fold; ++kh) {
        to.append(weight + kh * s.kernel + column, taps, s.in_channels);
      }
      if (kernel.tiles.channels % 2 != 0) to.append_zero();
    }
    to.end();
  }
}

// Rounds `count` neighbouring values. Overwrites as many bfloat16, and perhaps 31 more.
void round_weights(const float* values, int count, Bf16* rounded) {
  int k = 0;
  for (; k + kTileDepth <= count; k += kTileDepth) {
    simd::store_pairs(
        rounded + k, simd::round_sequence(simd::load(values + k), simd::load(values + k + kLanes)));
  }
  if (k == count) return;
  float last[kTileDepth] = {};
  std::copy(values + k, values + count, last);
  simd::store_pairs(rounded + k, simd::round_sequence(simd::load(last), simd::load(last + kLanes)));
}

// How many tiles of input channels are packed at once: what is read of an output channel's weights
// is to be more than a line of a page.
int gradient_tiles_at_once(const ConvShape& s) {
  constexpr int kFloats = 256;
  return std::max(1, kFloats / (kTileRows * s.kernel * s.kernel));
}

// Room for the rounded weights of an output channel.
std::int64_t rounded_floats(const ConvShape& s, int channels) {
  return channels * s.kernel * s.kernel / 2 + kTileDepth;
}

// The weights of `channels` input channels from `first` on for one phase.
void pack_gradient_rows(const ConvShape& s, const KernelTiles& kernel, int row_phase,
                        int column_phase, int first, int channels, const float* weight,
                        Bf16* packed) {
  std::fill_n(packed, count_tiles(channels) * kernel.weights(), Bf16{0});
  const int taps = s.kernel * s.kernel;
  auto* rounded = reinterpret_cast<Bf16*>(scratch(rounded_floats(s, channels)));
  for (int o = 0; o < s.out_channels; ++o) {
    round_weights(weight + s.weight(o, first, 0, 0), channels * taps, rounded);
    for (int row = 0; row < kernel.rows; ++row) {
      const int kh = row_phase + s.stride * (kernel.rows - 1 - row);
      for (int column = 0; column < kernel.columns; ++column) {
        const int kw = column_phase + s.stride * (kernel.columns - 1 - column);
        const int k = column * 2 * count_pairs(s.out_channels) + o;
        Bf16* to = packed + (std::int64_t{row} * kernel.row_tiles() + k / kTileDepth) * kTileBf16 +
                   k % kTileDepth;
        const Bf16* from = rounded + kh * s.kernel + kw;
        for (int i = 0; i < channels; i += kTileRows, to += kernel.weights()) {
          const int rows = std::min(kTileRows, channels - i);
          for (int r = 0; r < rows; ++r) to[r * kTileDepth] = from[(i + r) * taps];
        }
      }
    }
  }
}

}  // namespace

std::int64_t conv2d_bf16_forward_floats(const ConvShape& shape) {
  return floats_of(count_tiles(shape.out_channels) * ForwardKernel(shape).tiles.weights());
}

void conv2d_bf16_pack_forward(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                              float* packed) {
  const ForwardKernel kernel(shape);
  auto* tiles = reinterpret_cast<Bf16*>(packed);
  Kokkos::parallel_for(
      "quern::layers::conv2d_pack_forward", RangePolicy(exec, 0, count_tiles(shape.out_channels)),
      [=](std::int64_t tile) {
        Bf16* to = tiles + tile * kernel.tiles.weights();
        const int first = static_cast<int>(tile) * kTileRows;
        const int rows = std::min(kTileRows, shape.out_channels - first);
        if (rows < kTileRows) std::fill_n(to, kernel.tiles.weights(), Bf16{0});
        for (int r = 0; r < rows; ++r) {
          pack_forward_row(shape, kernel, weight + shape.weight(first + r, 0, 0, 0),
                           to + r * kTileDepth);
        }
      });
}

std::int64_t conv2d_bf16_weights_before(const ConvShape& s, int row_phase, int column_phase) {
  std::int64_t weights = 0;
  for (int before = 0; before < row_phase * s.stride + column_phase; ++before) {
    weights += conv2d_bf16_gradient_kernel(s, before / s.stride, before % s.stride).weights();
  }
  return count_tiles(s.in_channels) * weights;
}

std::int64_t conv2d_bf16_gradient_floats(const ConvShape& shape) {
  return floats_of(conv2d_bf16_weights_before(shape, shape.stride, 0));
}

std::int64_t conv2d_bf16_pack_scratch(const ConvShape& shape) {
  return rounded_floats(shape, gradient_tiles_at_once(shape) * kTileRows);
}

void conv2d_bf16_pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                               float* packed) {
  const int phases = shape.stride * shape.stride;
  const int channels = gradient_tiles_at_once(shape) * kTileRows;
  const int items = (shape.in_channels + channels - 1) / channels;
  auto* weights = reinterpret_cast<Bf16*>(packed);
  Kokkos::parallel_for(
      "quern::layers::conv2d_pack_gradient", RangePolicy(exec, 0, std::int64_t{phases} * items),
      [=](std::int64_t item) {
        const int first = static_cast<int>(item % items) * channels;
        const int row_phase = static_cast<int>(item / items) / shape.stride;
        const int column_phase = static_cast<int>(item / items) % shape.stride;
        const KernelTiles kernel = conv2d_bf16_gradient_kernel(shape, row_phase, column_phase);
        pack_gradient_rows(shape, kernel, row_phase, column_phase, first,
                           std::min(channels, shape.in_channels - first), weight,
                           weights + conv2d_bf16_weights_before(shape, row_phase, column_phase) +
                               count_tiles(first) * kernel.weights());
      });
}

}  // namespace quern::host

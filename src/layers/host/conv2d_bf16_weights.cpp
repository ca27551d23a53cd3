// SPDX-License-Identifier: Apache-2.0
#include "layers/host/conv2d_bf16_weights.hpp"

#include <algorithm>

#include "layers/host/scratch.hpp"

namespace quern::host {

namespace {

// A row of A tiles, filled value by value.
class TileRow {
 public:
  explicit TileRow(Bf16* tile) : tile_(tile) {}

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
    TileRow to(packed + std::int64_t{row} * kernel.tiles.row_tiles() * kTileBf16);
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
void round_values(const float* values, int count, Bf16* rounded) {
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

// The weights of 16 input channels from `first` on, or fewer, for one phase.
void pack_gradient_tile(const ConvShape& s, const KernelTiles& kernel, int row_phase,
                        int column_phase, int first, const float* weight, Bf16* packed) {
  std::fill_n(packed, kernel.weights(), Bf16{0});
  const int channels = std::min(kTileRows, s.in_channels - first);
  const int taps = s.kernel * s.kernel;
  auto* rounded = reinterpret_cast<Bf16*>(scratch(floats_of(kTileRows * taps + kTileDepth)));
  for (int o = 0; o < s.out_channels; ++o) {
    round_values(weight + s.weight(o, first, 0, 0), channels * taps, rounded);
    for (int row = 0; row < kernel.rows; ++row) {
      const int kh = row_phase + s.stride * (kernel.rows - 1 - row);
      for (int column = 0; column < kernel.columns; ++column) {
        const int kw = column_phase + s.stride * (kernel.columns - 1 - column);
        const int k = column * 2 * pairs_of(s.out_channels) + o;
        Bf16* to = packed + (std::int64_t{row} * kernel.row_tiles() + k / kTileDepth) * kTileBf16 +
                   k % kTileDepth;
        const Bf16* from = rounded + kh * s.kernel + kw;
        for (int i = 0; i < channels; ++i) to[i * kTileDepth] = from[i * taps];
      }
    }
  }
}

}  // namespace

std::int64_t conv2d_bf16_forward_floats(const ConvShape& shape) {
  return floats_of(tiles_of(shape.out_channels) * ForwardKernel(shape).tiles.weights());
}

void conv2d_bf16_pack_forward(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                              float* packed) {
  const ForwardKernel kernel(shape);
  auto* tiles = reinterpret_cast<Bf16*>(packed);
  Kokkos::parallel_for("quern::layers::conv2d_pack_forward",
                       RangePolicy(exec, 0, tiles_of(shape.out_channels)), [=](std::int64_t tile) {
                         Bf16* to = tiles + tile * kernel.tiles.weights();
                         const int first = static_cast<int>(tile) * kTileRows;
                         const int rows = std::min(kTileRows, shape.out_channels - first);
                         if (rows < kTileRows) std::fill_n(to, kernel.tiles.weights(), Bf16{0});
                         for (int r = 0; r < rows; ++r) {
                           pack_forward_row(shape, kernel,
                                            weight + shape.weight(first + r, 0, 0, 0),
                                            to + r * kTileDepth);
                         }
                       });
}

std::int64_t conv2d_bf16_weights_before(const ConvShape& s, int row_phase, int column_phase) {
  std::int64_t weights = 0;
  for (int before = 0; before < row_phase * s.stride + column_phase; ++before) {
    weights += conv2d_bf16_gradient_kernel(s, before / s.stride, before % s.stride).weights();
  }
  return tiles_of(s.in_channels) * weights;
}

std::int64_t conv2d_bf16_gradient_floats(const ConvShape& shape) {
  return floats_of(conv2d_bf16_weights_before(shape, shape.stride, 0));
}

void conv2d_bf16_pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                               float* packed) {
  const int phases = shape.stride * shape.stride;
  const int tiles = tiles_of(shape.in_channels);
  auto* weights = reinterpret_cast<Bf16*>(packed);
  Kokkos::parallel_for(
      "quern::layers::conv2d_pack_gradient", RangePolicy(exec, 0, std::int64_t{phases} * tiles),
      [=](std::int64_t item) {
        const int tile = static_cast<int>(item % tiles);
        const int row_phase = static_cast<int>(item / tiles) / shape.stride;
        const int column_phase = static_cast<int>(item / tiles) % shape.stride;
        const KernelTiles kernel = conv2d_bf16_gradient_kernel(shape, row_phase, column_phase);
        pack_gradient_tile(shape, kernel, row_phase, column_phase, tile * kTileRows, weight,
                           weights + conv2d_bf16_weights_before(shape, row_phase, column_phase) +
                               tile * kernel.weights());
      });
}

}  // namespace quern::host

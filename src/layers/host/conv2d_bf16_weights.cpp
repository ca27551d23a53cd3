// SPDX-License-Identifier: Apache-2.0
#include "layers/host/conv2d_bf16_weights.hpp"

#include <algorithm>
#include <cstring>

#include "base/ceil_div.hpp"
#include "layers/host/scratch.hpp"
#include "linalg/host/simd_transpose.hpp"

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

// How many tiles of input channels are packed at once: what is read of an output channel's weights
// is to be more than a line of a page.
int gradient_tiles_at_once(const ConvShape& s) {
  constexpr int kFloats = 256;
  return std::max(1, kFloats / (kTileRows * s.kernel * s.kernel));
}

// Where the weights of a kernel pixel go: of 16 input channels in `tiles`, of the next 16 `next`
// later, those of output channel o at k + o.
struct PixelPlace {
  Bf16* tiles;
  std::int64_t next;
  int k;

  // Neighbouring output channels, an even number of them, of input channel `channel`.
  void put(int channel, int first, int count, const float* pairs) const {
    const int at = k + first;
    const int column = at % kTileDepth;
    Bf16* to = tiles + channel / kTileRows * next + std::int64_t{at / kTileDepth} * kTileBf16 +
               channel % kTileRows * kTileDepth + column;
    if (column == 0 && count == kTileDepth) {
      simd::store_pairs(to, simd::load(pairs));
      return;
    }
    const int fit = std::min(count, kTileDepth - column);
    std::memcpy(to, pairs, fit * sizeof(Bf16));
    std::memcpy(to - column + kTileBf16, pairs + fit / 2, (count - fit) * sizeof(Bf16));
  }
};

// The places of all kernel pixels, for the input channels from `first` on, a multiple of 16. Zeros
// in all tiles of `channels` of them.
void begin_gradient_tiles(const ConvShape& s, int first, int channels, Bf16* packed,
                          PixelPlace* places) {
  for (int phase = 0; phase < s.stride * s.stride; ++phase) {
    const int row_phase = phase / s.stride;
    const int column_phase = phase % s.stride;
    const KernelTiles kernel = conv2d_bf16_gradient_kernel(s, row_phase, column_phase);
    Bf16* tiles = packed + conv2d_bf16_weights_before(s, row_phase, column_phase) +
                  count_tiles(first) * kernel.weights();
    std::fill_n(tiles, count_tiles(channels) * kernel.weights(), Bf16{0});
    for (int row = 0; row < kernel.rows; ++row) {
      const int kh = row_phase + s.stride * (kernel.rows - 1 - row);
      for (int column = 0; column < kernel.columns; ++column) {
        const int kw = column_phase + s.stride * (kernel.columns - 1 - column);
        places[kh * s.kernel + kw] = {tiles + std::int64_t{row} * kernel.row_tiles() * kTileBf16,
                                      kernel.weights(), column * 2 * count_pairs(s.out_channels)};
      }
    }
  }
}

// The weights of output channels as rows of floats; zero after the last one.
struct WeightRows {
  const float* data;
  std::int64_t next;
  int rows;
  int columns;

  simd::Vector load(int row, int column) const {
    if (row >= rows) return simd::Vector{};
    const float* values = data + row * next + column;
    if (column + kLanes <= columns) return simd::load(values);
    alignas(64) float last[kLanes] = {};
    std::copy_n(values, columns - column, last);
    return simd::load(last);
  }
};

// The weights of `channels` input channels from `first` on. Pairs of output channels are turned 16
// at a time: then all 32 of an input channel and a kernel pixel are neighbours.
void pack_gradient_tiles(const ConvShape& s, int first, int channels, const float* weight,
                         Bf16* packed) {
  const int taps = s.kernel * s.kernel;
  auto* places = reinterpret_cast<PixelPlace*>(scratch(conv2d_bf16_pack_scratch(s)));
  begin_gradient_tiles(s, first, channels, packed, places);
  const WeightRows rows{weight + s.weight(0, first, 0, 0), s.weight(1, 0, 0, 0), s.out_channels,
                        channels * taps};
  for (int o = 0; o < s.out_channels; o += kTileDepth) {
    const int count = std::min(kTileDepth, 2 * count_pairs(s.out_channels) - o);
    for (int begin = 0; begin < rows.columns; begin += kLanes) {
      alignas(64) float pairs[kTileFloats];
      alignas(64) float turned[kTileFloats];
      for (int p = 0; p < kLanes; ++p) {
        simd::store(pairs + p * kLanes, simd::round_pairs(rows.load(o + 2 * p, begin),
                                                          rows.load(o + 2 * p + 1, begin)));
      }
      simd::transpose_tile(pairs, kLanes, turned, kLanes);
      int channel = begin / taps;
      int tap = begin % taps;
      for (int l = 0; l < std::min(kLanes, rows.columns - begin); ++l) {
        places[tap].put(channel, o, count, turned + l * kLanes);
        if (++tap == taps) {
          tap = 0;
          ++channel;
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
  static_assert(sizeof(PixelPlace) % sizeof(float) == 0);
  return std::int64_t{shape.kernel} * shape.kernel * (sizeof(PixelPlace) / sizeof(float));
}

void conv2d_bf16_pack_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                               float* packed) {
  const int channels = gradient_tiles_at_once(shape) * kTileRows;
  auto* weights = reinterpret_cast<Bf16*>(packed);
  Kokkos::parallel_for(
      "quern::layers::conv2d_pack_gradient",
      RangePolicy(exec, 0, ceil_div(shape.in_channels, channels)), [=](std::int64_t item) {
        const int first = static_cast<int>(item) * channels;
        pack_gradient_tiles(shape, first, std::min(channels, shape.in_channels - first), weight,
                            weights);
      });
}

}  // namespace quern::host

// SPDX-License-Identifier: Apache-2.0
// Winograd's minimal filtering F(2 x 2, 3 x 3) for convolutions of 3 x 3 pixels with stride 1
// (A. Lavin, S. Gray: Fast Algorithms for Convolutional Neural Networks, CVPR 2016, section 4.1):
// a tile of 2 x 2 outputs is
//   y = A^T [(G g G^T) * (B^T d B)] A
// for the weights g [3, 3] and the 4 x 4 pixels d that it reads; * multiplies position by position
// and is summed over the input channels. 16 products stand for 36. With dy for y, the weight
// gradient is
//   dg = G^T [(A dy A^T) * (B^T d B)] G,
// * summed over tiles and samples. The matrices hold 0, 1, -1 and 1/2 only.
//
// All is vectorised over 16 samples (Layout::nchw16n). In one dimension:
//   B^T d = (d0 - d2, d1 + d2, d2 - d1, d1 - d3)    A dy = (dy0, dy0 + dy1, dy0 - dy1, -dy1)
//   A^T m = ((m0 + m1) + m2, (m1 - m2) - m3)
//   G g = (g0, ((g0 + g1) + g2) / 2, ((g0 - g1) + g2) / 2, g2)
//   G^T u = ((u0 + u1 / 2) + u2 / 2, u1 / 2 - u2 / 2, (u1 / 2 + u2 / 2) + u3)
#pragma once

#include <algorithm>
#include <cstdint>

#include "linalg/host/simd.hpp"

namespace quern::host {

/// Positions of a transformed tile, 4 x 4.
inline constexpr int kWinogradPositions = 16;

/// One group of 16 samples, [channels, height, width], with a border of zeros that is not in
/// memory.
struct WinogradImages {
  const float* data;
  int channels;
  int height;
  int width;
  int padding;
};

/// Tiles of 2 x 2 outputs: rows and columns of the grid of tiles.
struct TilePart {
  int row;
  int rows;
  int column;
  int columns;

  int tiles() const { return rows * columns; }
};

/// Transformed tiles in memory: 16 positions of [channels, tiles], a vector of 16 samples each.
struct TilePositions {
  float* data;
  int channels;
  int tiles;

  /// An odd number of cache lines between positions, which otherwise would meet in a few sets of
  /// the cache.
  std::int64_t position() const {
    return std::int64_t{simd::kWidth} * ((std::int64_t{channels} * tiles) | 1);
  }
  std::int64_t floats() const { return kWinogradPositions * position(); }
  float* at(int channel, int tile) const {
    return data + simd::kWidth * (std::int64_t{channel} * tiles + tile);
  }
};

/// Four values of one row or column, as B^T or A makes them.
struct WinogradFour {
  simd::Register value[4];
};

[[gnu::always_inline]] inline WinogradFour winograd_input(simd::Register d0, simd::Register d1,
                                                          simd::Register d2, simd::Register d3) {
  return {{d0 - d2, d1 + d2, d2 - d1, d1 - d3}};
}

[[gnu::always_inline]] inline WinogradFour winograd_gradient(simd::Register dy0,
                                                             simd::Register dy1) {
  return {{dy0, dy0 + dy1, dy0 - dy1, -dy1}};
}

/// to(channel, first_tile + tile) = B^T d B for every channel and the tiles of `part`. Overwrites.
/// `zeros`: as many vectors of zeros as an image has columns.
inline void winograd_transform_input(const WinogradImages& x, const TilePart& part,
                                     const float* zeros, const TilePositions& to, int first_tile) {
  using simd::kWidth;
  using simd::load;
  using simd::Register;
  const std::int64_t position = to.position();
  const std::int64_t next_plane = std::int64_t{kWidth} * x.height * x.width;
  const int first_column = 2 * part.column - x.padding;
  const int last = std::max(0, x.width - 2);
  for (int channel = 0; channel < x.channels; ++channel) {
    const float* plane = x.data + channel * next_plane;
    for (int r = 0; r < part.rows; ++r) {
      const float* row[4];
      const float* ahead[4];  // of the next channel
      for (int i = 0; i < 4; ++i) {
        const int h = 2 * (part.row + r) - x.padding + i;
        const bool inside = h >= 0 && h < x.height;
        row[i] = inside ? plane + std::int64_t{kWidth} * h * x.width : zeros;
        ahead[i] = inside && channel + 1 < x.channels ? row[i] + next_plane : row[i];
      }
      float* tile = to.at(channel, first_tile + r * part.columns);
      for (int lane = 0; lane < kWidth; lane += simd::kRegisterLanes) {
        // B^T d of one column of pixels.
        const auto column = [&](int w) __attribute__((always_inline)) {
          if (w < 0 || w >= x.width) return WinogradFour{};
          const std::int64_t at = std::int64_t{kWidth} * w + lane;
          return winograd_input(load<Register>(row[0] + at), load<Register>(row[1] + at),
                                load<Register>(row[2] + at), load<Register>(row[3] + at));
        };
        // Neighbours share two of four columns.
        WinogradFour c0 = column(first_column);
        WinogradFour c1 = column(first_column + 1);
        for (int c = 0; c < part.columns; ++c) {
          const std::int64_t next = std::int64_t{kWidth} * std::min(first_column + 2 * c + 2, last);
          for (int i = 0; i < 4; ++i) {
            simd::prefetch(ahead[i] + next);
            simd::prefetch(ahead[i] + next + kWidth);
          }
          const WinogradFour c2 = column(first_column + 2 * c + 2);
          const WinogradFour c3 = column(first_column + 2 * c + 3);
          float* p = tile + std::int64_t{kWidth} * c + lane;
          QUERN_UNROLL
          for (int i = 0; i < 4; ++i) {
            const WinogradFour v =
                winograd_input(c0.value[i], c1.value[i], c2.value[i], c3.value[i]);
            QUERN_UNROLL
            for (int j = 0; j < 4; ++j) simd::store(p + (4 * i + j) * position, v.value[j]);
          }
          c0 = c2;
          c1 = c3;
        }
      }
    }
  }
}

/// to(channel, first_tile + tile) = A dy A^T for every channel and the tiles of `part`, zero beyond
/// the image. dy.padding is not looked at. Overwrites. `zeros` as above.
inline void winograd_transform_gradient(const WinogradImages& dy, const TilePart& part,
                                        const float* zeros, const TilePositions& to,
                                        int first_tile) {
  using simd::kWidth;
  using simd::load;
  using simd::Register;
  const std::int64_t position = to.position();
  const std::int64_t next_plane = std::int64_t{kWidth} * dy.height * dy.width;
  for (int channel = 0; channel < dy.channels; ++channel) {
    const float* plane = dy.data + channel * next_plane;
    const std::int64_t ahead = channel + 1 < dy.channels ? next_plane : 0;
    for (int r = 0; r < part.rows; ++r) {
      const int h = 2 * (part.row + r);
      const float* row0 = plane + std::int64_t{kWidth} * h * dy.width;
      const float* row1 = h + 1 < dy.height ? row0 + std::int64_t{kWidth} * dy.width : zeros;
      float* tile = to.at(channel, first_tile + r * part.columns);
      for (int c = 0; c < part.columns; ++c) {
        const int w = 2 * (part.column + c);
        const std::int64_t at = std::int64_t{kWidth} * w;
        simd::prefetch(row0 + ahead + at);
        simd::prefetch(row0 + ahead + at + kWidth);
        if (row1 != zeros) {
          simd::prefetch(row1 + ahead + at);
          simd::prefetch(row1 + ahead + at + kWidth);
        }
        for (int lane = 0; lane < kWidth; lane += simd::kRegisterLanes) {
          const WinogradFour left =
              winograd_gradient(load<Register>(row0 + at + lane), load<Register>(row1 + at + lane));
          WinogradFour right{};
          if (w + 1 < dy.width) {
            right = winograd_gradient(load<Register>(row0 + at + kWidth + lane),
                                      load<Register>(row1 + at + kWidth + lane));
          }
          float* p = tile + std::int64_t{kWidth} * c + lane;
          QUERN_UNROLL
          for (int i = 0; i < 4; ++i) {
            const WinogradFour v = winograd_gradient(left.value[i], right.value[i]);
            QUERN_UNROLL
            for (int j = 0; j < 4; ++j) simd::store(p + (4 * i + j) * position, v.value[j]);
          }
        }
      }
    }
  }
}

/// A^T m A of the registers m[p * position], p = 0 .. 15, to y[row][column].
[[gnu::always_inline]] inline void winograd_output(const float* m, std::int64_t position,
                                                   simd::Register (&y)[2][2]) {
  using simd::load;
  using simd::Register;
  Register row[2][4];
  QUERN_UNROLL
  for (int j = 0; j < 4; ++j) {
    const Register m0 = load<Register>(m + j * position);
    const Register m1 = load<Register>(m + (4 + j) * position);
    const Register m2 = load<Register>(m + (8 + j) * position);
    const Register m3 = load<Register>(m + (12 + j) * position);
    row[0][j] = (m0 + m1) + m2;
    row[1][j] = (m1 - m2) - m3;
  }
  QUERN_UNROLL
  for (int i = 0; i < 2; ++i) {
    y[i][0] = (row[i][0] + row[i][1]) + row[i][2];
    y[i][1] = (row[i][1] - row[i][2]) - row[i][3];
  }
}

/// u = G g G^T, u[4 i + j] for g[3 i + j]. V: a register of independent weights.
template <class V>
inline void winograd_transform_weights(const V (&g)[9], V (&u)[kWinogradPositions]) {
  V row[4][3];
  for (int j = 0; j < 3; ++j) {
    row[0][j] = g[j];
    row[1][j] = ((g[j] + g[3 + j]) + g[6 + j]) * 0.5f;
    row[2][j] = ((g[j] - g[3 + j]) + g[6 + j]) * 0.5f;
    row[3][j] = g[6 + j];
  }
  for (int i = 0; i < 4; ++i) {
    u[4 * i] = row[i][0];
    u[4 * i + 1] = ((row[i][0] + row[i][1]) + row[i][2]) * 0.5f;
    u[4 * i + 2] = ((row[i][0] - row[i][1]) + row[i][2]) * 0.5f;
    u[4 * i + 3] = row[i][2];
  }
}

/// dg = G^T du G, dg[3 i + j] for du[4 i + j].
template <class V>
inline void winograd_weight_gradient(const V (&du)[kWinogradPositions], V (&dg)[9]) {
  V row[3][4];
  for (int j = 0; j < 4; ++j) {
    const V half1 = du[4 + j] * 0.5f;
    const V half2 = du[8 + j] * 0.5f;
    row[0][j] = (du[j] + half1) + half2;
    row[1][j] = half1 - half2;
    row[2][j] = (half1 + half2) + du[12 + j];
  }
  for (int i = 0; i < 3; ++i) {
    const V half1 = row[i][1] * 0.5f;
    const V half2 = row[i][2] * 0.5f;
    dg[3 * i] = (row[i][0] + half1) + half2;
    dg[3 * i + 1] = half1 - half2;
    dg[3 * i + 2] = (half1 + half2) + row[i][3];
  }
}

}  // namespace quern::host

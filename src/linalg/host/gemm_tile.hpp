// SPDX-License-Identifier: Apache-2.0
// The register tile every dense product is made of, and how a range is cut into tiles.
//
// Each element of a tile is one chain of fused multiply-adds over k in ascending order. So an
// element's bits do not depend on the size or the place of the tile that computes it, and neither
// on how many rows or columns the matrix has.
#pragma once

#include <type_traits>

#include "base/ceil_div.hpp"
#include "linalg/host/simd.hpp"

namespace quern::simd {

/// Floats from one row of a tile to the next, and from one vector of a row to the next.
struct Steps {
  std::int64_t row;
  std::int64_t vector;
};

/// A number that the compiler knows.
template <std::int64_t N>
using Known = std::integral_constant<std::int64_t, N>;

/// R x (16 V) accumulators. All of it is inlined: a tile whose address is passed on lies in memory,
/// and every multiply-add stores its sum.
template <int R, int V>
struct Tile {
  Vector sum[R][V];

  [[gnu::always_inline]] void clear() {
    QUERN_UNROLL
    for (int r = 0; r < R; ++r) {
      QUERN_UNROLL
      for (int v = 0; v < V; ++v) sum[r][v] = Vector{};
    }
  }

  /// sum[r][:] += a[r * a_row + k * a_step] * b[k, :] for k = 0 .. depth - 1. Depth and steps are
  /// numbers, or types Known<n>: what the compiler knows costs no instruction of the loop, which
  /// has no room for more where another thread uses the same core.
  template <class Depth, class Row, class Step, class BRow>
  [[gnu::always_inline]] void multiply_add(Depth depth, const float* a, Row a_row, Step a_step,
                                           const float* b, BRow b_row, std::int64_t b_vector) {
    const int steps = static_cast<int>(depth);
#pragma GCC unroll 4
    for (int k = 0; k < steps; ++k) {
      Vector b_k[V];
      QUERN_UNROLL
      for (int v = 0; v < V; ++v) b_k[v] = load(b + v * b_vector);
      QUERN_UNROLL
      for (int r = 0; r < R; ++r) {
        const Vector a_rk = broadcast(a[r * a_row]);
        QUERN_UNROLL
        for (int v = 0; v < V; ++v) sum[r][v] = simd::multiply_add(a_rk, b_k[v], sum[r][v]);
      }
      a += a_step;
      b += b_row;
    }
  }

  /// Adds bias[:] to every row.
  [[gnu::always_inline]] void add_to_rows(const float* bias) {
    QUERN_UNROLL
    for (int v = 0; v < V; ++v) {
      const Vector b = load(bias + kWidth * v);
      QUERN_UNROLL
      for (int r = 0; r < R; ++r) sum[r][v] += b;
    }
  }

  [[gnu::always_inline]] void apply_relu() {
    QUERN_UNROLL
    for (int r = 0; r < R; ++r) {
      QUERN_UNROLL
      for (int v = 0; v < V; ++v) sum[r][v] = relu(sum[r][v]);
    }
  }

  /// Zero where mask[r, :] is not above 0. Reads whole vectors.
  [[gnu::always_inline]] void apply_relu_backward(const float* mask, Steps step) {
    QUERN_UNROLL
    for (int r = 0; r < R; ++r) {
      QUERN_UNROLL
      for (int v = 0; v < V; ++v) {
        sum[r][v] = relu_backward(load(mask + r * step.row + v * step.vector), sum[r][v]);
      }
    }
  }

  /// Asks for the lines that store_to() will write: they come while the tile is computed.
  static void prefetch_target(const float* c, Steps step) {
    QUERN_UNROLL
    for (int r = 0; r < R; ++r) {
      QUERN_UNROLL
      for (int v = 0; v < V; ++v) prefetch_to_write(c + r * step.row + v * step.vector);
    }
  }

  static constexpr int kFloats = kWidth * R * V;

  /// Writes the tile to kFloats floats. Not an assignment between Tiles, which compilers make a
  /// call of memcpy: it costs a seventh of a weight gradient's time.
  [[gnu::always_inline]] void save(float* saved) const {
    QUERN_UNROLL
    for (int r = 0; r < R; ++r) {
      QUERN_UNROLL
      for (int v = 0; v < V; ++v) store(saved + kWidth * (r * V + v), sum[r][v]);
    }
  }

  [[gnu::always_inline]] void restore(const float* saved) {
    QUERN_UNROLL
    for (int r = 0; r < R; ++r) {
      QUERN_UNROLL
      for (int v = 0; v < V; ++v) sum[r][v] = load(saved + kWidth * (r * V + v));
    }
  }

  /// this = left + this, the order of the summation tree.
  [[gnu::always_inline]] void add_left(const float* saved_left) {
    QUERN_UNROLL
    for (int r = 0; r < R; ++r) {
      QUERN_UNROLL
      for (int v = 0; v < V; ++v) sum[r][v] = load(saved_left + kWidth * (r * V + v)) + sum[r][v];
    }
  }

  /// Writes `columns` (at most 16 V) columns of each row.
  [[gnu::always_inline]] void store_to(float* c, Steps step, int columns) const {
    QUERN_UNROLL
    for (int v = 0; v < V; ++v) {
      const int left = columns - kWidth * v;
      float* target = c + v * step.vector;
      if (left >= kWidth) {
        QUERN_UNROLL
        for (int r = 0; r < R; ++r) store(target + r * step.row, sum[r][v]);
      } else if (left > 0) {
        QUERN_UNROLL
        for (int r = 0; r < R; ++r) store_first(target + r * step.row, sum[r][v], left);
      }
    }
  }
};

/// [0, extent) cut into the fewest pieces of at most `largest`, sizes differing by at most one, so
/// that no tile is much less efficient than the others. Divides once: a tile takes hundreds of
/// cycles only, and a division 10 to 20.
struct EvenSplit {
  int extent;
  int pieces;
  int smaller;  // size of the last pieces
  int larger;   // how many pieces before them have one more

  constexpr EvenSplit(int total, int largest)
      : extent(total),
        pieces(ceil_div(total, largest)),
        smaller(pieces > 0 ? total / pieces : 0),
        larger(pieces > 0 ? total % pieces : 0) {}
  constexpr int begin(int piece) const {
    return piece * smaller + (piece < larger ? piece : larger);
  }
  constexpr int size(int piece) const { return smaller + (piece < larger ? 1 : 0); }
};

/// [0, extent) cut into pieces of `largest`, the last of which may be smaller.
struct FixedSplit {
  int extent;
  int largest;
  int pieces;

  constexpr FixedSplit(int total, int size)
      : extent(total), largest(size), pieces(ceil_div(total, size)) {}
  constexpr int begin(int piece) const { return piece * largest; }
  constexpr int size(int piece) const {
    const int left = extent - begin(piece);
    return left < largest ? left : largest;
  }
};

/// Calls f.template operator()<n>() with n = value, 1 <= value <= Largest.
template <int Largest, class F>
inline void with_constant(int value, F&& f) {
  if constexpr (Largest == 1) {
    f.template operator()<1>();
  } else {
    if (value == Largest) {
      f.template operator()<Largest>();
    } else {
      with_constant<Largest - 1>(value, static_cast<F&&>(f));
    }
  }
}

}  // namespace quern::simd

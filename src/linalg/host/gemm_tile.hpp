// SPDX-License-Identifier: Apache-2.0
// The register tile every dense product is made of, and how a range is cut into tiles.
//
// Each element of a tile is one chain of fused multiply-adds over k in ascending order. So an
// element's bits do not depend on the size or the place of the tile that computes it, and neither
// on how many rows or columns the matrix has.
#pragma once

#include "linalg/host/simd.hpp"

namespace quern::simd {

/// Floats from one row of a tile to the next, and from one vector of a row to the next.
struct Steps {
  std::int64_t row;
  std::int64_t vector;
};

/// R x (16 V) accumulators.
template <int R, int V>
struct Tile {
  Vector sum[R][V];

  void clear() {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) sum[r][v] = Vector{};
    }
  }

  /// sum[r][:] += a[r * a_row + k * a_step] * b[k, :] for k = 0 .. depth - 1.
  [[gnu::always_inline]] void multiply_add(int depth, const float* a, std::int64_t a_row,
                                           std::int64_t a_step, const float* b, Steps b_step) {
    for (int k = 0; k < depth; ++k) {
      Vector b_k[V];
      for (int v = 0; v < V; ++v) b_k[v] = load(b + v * b_step.vector);
      for (int r = 0; r < R; ++r) {
        const Vector a_rk = broadcast(a[r * a_row]);
        for (int v = 0; v < V; ++v) sum[r][v] = simd::multiply_add(a_rk, b_k[v], sum[r][v]);
      }
      a += a_step;
      b += b_step.row;
    }
  }

  /// Adds bias[:] to every row.
  void add_to_rows(const float* bias) {
    for (int v = 0; v < V; ++v) {
      const Vector b = load(bias + 16 * v);
      for (int r = 0; r < R; ++r) sum[r][v] += b;
    }
  }

  void apply_relu() {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) sum[r][v] = relu(sum[r][v]);
    }
  }

  /// Zero where gate[r, :] is not above 0. Reads whole vectors.
  void apply_relu_slope(const float* gate, Steps step) {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) {
        sum[r][v] = relu_slope(load(gate + r * step.row + v * step.vector), sum[r][v]);
      }
    }
  }

  /// Asks for the lines that store_to() will write: they come while the tile is computed.
  static void prefetch_target(const float* c, Steps step) {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) __builtin_prefetch(c + r * step.row + v * step.vector, 1);
    }
  }

  /// this = left + this, the order of the summation tree.
  void add_left(const Tile& left) {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) sum[r][v] = left.sum[r][v] + sum[r][v];
    }
  }

  /// Writes `columns` (at most 16 V) columns of each row.
  void store_to(float* c, Steps step, int columns) const {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) {
        const int left = columns - 16 * v;
        float* target = c + r * step.row + v * step.vector;
        if (left >= 16) {
          store(target, sum[r][v]);
        } else if (left > 0) {
          store_first(target, sum[r][v], left);
        }
      }
    }
  }
};

/// [0, extent) cut into the fewest pieces of at most `largest`, sizes differing by at most one, so
/// that no tile is much less efficient than the others.
struct EvenSplit {
  int extent;
  int pieces;

  constexpr EvenSplit(int total, int largest)
      : extent(total), pieces((total + largest - 1) / largest) {}
  constexpr int begin(int piece) const {
    return static_cast<int>(static_cast<std::int64_t>(extent) * piece / pieces);
  }
  constexpr int size(int piece) const { return begin(piece + 1) - begin(piece); }
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

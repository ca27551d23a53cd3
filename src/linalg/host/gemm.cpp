// SPDX-License-Identifier: Apache-2.0
#include "linalg/host/gemm.hpp"

#include <algorithm>

#include "linalg/host/gemm_tile.hpp"

namespace quern::host {

namespace {

using simd::EvenSplit;
using simd::kRows;
using simd::kTallRows;
using simd::kVectors;
using simd::Steps;
using simd::Tile;

// Rows that a tile of V vectors may have.
constexpr int largest_rows(int vectors) {
  return 2 * vectors <= kVectors ? kTallRows : kRows;
}

// Calls f<R, V>() for a tile of `rows` rows and `vectors` vectors.
template <class F>
void with_tile(int rows, int vectors, F&& f) {
  simd::with_constant<kVectors>(vectors, [&]<int V>() {
    simd::with_constant<largest_rows(V)>(rows, [&]<int R>() { f.template operator()<R, V>(); });
  });
}

struct TilePlace {
  int row;
  int rows;
  int column;
  int columns;

  int vectors() const { return (columns + 15) / 16; }
};

// The tiles of an m x n result as one range, rows running fastest so that neighbours share a panel
// of B.
struct TileGrid {
  int columns;
  EvenSplit panels;  // of vectors
  EvenSplit rows;

  TileGrid(int m, int n)
      : columns(n),
        panels((n + 15) / 16, kVectors),
        rows(m, largest_rows(panels.size(panels.pieces - 1))) {}

  std::int64_t count() const { return std::int64_t{rows.pieces} * panels.pieces; }

  TilePlace operator[](std::int64_t tile) const {
    const int piece = static_cast<int>(tile % rows.pieces);
    const int panel = static_cast<int>(tile / rows.pieces);
    const int column = 16 * panels.begin(panel);
    return {rows.begin(piece), rows.size(piece), column,
            std::min(16 * panels.size(panel), columns - column)};
  }
};

template <class M>
Steps steps_of(const M& matrix) {
  return {matrix.stride, matrix.panel};
}

template <int R, int V>
void sum_blocks(const BlockSchedule& schedule, float* c, std::int64_t partial_stride,
                const Steps& c_step, int columns, const ConstMatrix& a, const ConstMatrix& b) {
  Tile<R, V>::prefetch_target(c, c_step);
  Tile<R, V> stack[BlockSchedule::kMaxDepth];
  int top = 0;
  for (int block = 0; block < schedule.num_blocks; ++block) {
    const std::int64_t slot = std::int64_t{block} * schedule.block_slots;
    Tile<R, V> tile;
    tile.clear();
    tile.multiply_add(schedule.block_slots, a.data + slot * a.stride, 1, a.stride,
                      b.data + slot * b.stride, steps_of(b));
    for (int merge = 0; merge < schedule.host_merges(block); ++merge) tile.add_left(stack[--top]);
    stack[top++] = tile;
  }
  for (int p = 0; p < top; ++p) stack[p].store_to(c + p * partial_stride, c_step, columns);
}

}  // namespace

void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
              const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) {
  const TileGrid grid(c.rows, c.columns);
  Kokkos::parallel_for(label, RangePolicy(exec, 0, grid.count()), [=](std::int64_t item) {
    const TilePlace place = grid[item];
    const std::int64_t target = c.place(place.row, place.column);
    const Steps c_step = steps_of(c);
    with_tile(place.rows, place.vectors(), [&]<int R, int V>() {
      Tile<R, V>::prefetch_target(c.data + target, c_step);
      Tile<R, V> tile;
      tile.clear();
      tile.multiply_add(a.columns, a.data + place.row * a.stride, a.stride, 1,
                        b.data + b.place(0, place.column), steps_of(b));
      if (epilogue.bias) tile.add_to_rows(epilogue.bias + place.column);
      if (epilogue.relu) tile.apply_relu();
      if (epilogue.relu_gate) tile.apply_relu_slope(epilogue.relu_gate + target, c_step);
      tile.store_to(c.data + target, c_step, place.columns);
    });
  });
}

void multiply_blocks(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                     const GradientPartials& partials, const GradientPlace& gradient,
                     const ConstMatrix& a, const ConstMatrix& b) {
  const TileGrid grid(a.columns, b.columns);
  Kokkos::parallel_for(label, RangePolicy(exec, 0, grid.count()), [=](std::int64_t item) {
    const TilePlace place = grid[item];
    const Matrix target{partials.data.data() + gradient.offset, a.columns, b.columns,
                        gradient.stride, gradient.panel};
    float* c = target.data + target.place(place.row, place.column);
    ConstMatrix a_tile = a;
    ConstMatrix b_tile = b;
    a_tile.data += place.row;
    b_tile.data += b.place(0, place.column);
    with_tile(place.rows, place.vectors(), [&]<int R, int V>() {
      sum_blocks<R, V>(schedule, c, partials.stride, steps_of(target), place.columns, a_tile,
                       b_tile);
    });
  });
}

}  // namespace quern::host

// SPDX-License-Identifier: Apache-2.0
#include "linalg/gemm.hpp"

#include <algorithm>

#include "linalg/gemm_tile.hpp"

namespace quern {

namespace {

using simd::EvenSplit;
using simd::kRows;
using simd::kVectors;
using simd::Tile;

constexpr int kPanel = 16 * kVectors;  // columns of a tile

// Calls f<R, V>() for a tile of `rows` rows and `columns` columns.
template <class F>
void with_tile(int rows, int columns, F&& f) {
  simd::with_constant<kRows>(rows, [&]<int R>() {
    simd::with_constant<kVectors>((columns + 15) / 16,
                                  [&]<int V>() { f.template operator()<R, V>(); });
  });
}

// The tiles of an m x n result as one range: tile t is (row piece, column panel), the row piece
// running fastest so that neighbours share a panel of B.
struct TileGrid {
  EvenSplit rows;
  int columns;
  int panels;

  TileGrid(int m, int n) : rows(m, kRows), columns(n), panels((n + kPanel - 1) / kPanel) {}
  int count() const { return rows.pieces * panels; }
};

template <int R, int V>
void sum_blocks(const BlockSchedule& schedule, const GradientPartials& partials,
                std::int64_t position, std::int64_t c_row, int columns, const ConstMatrix& a,
                const ConstMatrix& b) {
  Tile<R, V> stack[BlockSchedule::kMaxDepth];
  int top = 0;
  for (int block = 0; block < schedule.num_blocks; ++block) {
    const std::int64_t slot = std::int64_t{block} * schedule.block_slots;
    Tile<R, V> tile;
    tile.clear();
    tile.multiply_add(schedule.block_slots, a.data + slot * a.stride, 1, a.stride,
                      b.data + slot * b.stride, b.stride);
    for (int merge = 0; merge < schedule.host_merges(block); ++merge) tile.add_left(stack[--top]);
    stack[top++] = tile;
  }
  for (int p = 0; p < top; ++p) {
    stack[p].store_to(partials.data.data() + p * partials.stride + position, c_row, columns);
  }
}

}  // namespace

void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
              const ConstMatrix& a, const ConstMatrix& b, const float* bias) {
  const TileGrid grid(c.rows, c.columns);
  Kokkos::parallel_for(label, RangePolicy(exec, 0, grid.count()), [=](std::int64_t item) {
    const int piece = static_cast<int>(item) % grid.rows.pieces;
    const int row = grid.rows.begin(piece);
    const int column = static_cast<int>(item) / grid.rows.pieces * kPanel;
    const int columns = std::min(kPanel, grid.columns - column);
    with_tile(grid.rows.size(piece), columns, [&]<int R, int V>() {
      Tile<R, V> tile;
      tile.clear();
      tile.multiply_add(a.columns, a.data + row * a.stride, a.stride, 1, b.data + column, b.stride);
      if (bias) tile.add_to_rows(bias + column);
      tile.store_to(c.data + row * c.stride + column, c.stride, columns);
    });
  });
}

void multiply_blocks(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                     const GradientPartials& partials, std::int64_t offset, const ConstMatrix& a,
                     const ConstMatrix& b) {
  const TileGrid grid(a.columns, b.columns);
  const std::int64_t c_row = b.columns;
  Kokkos::parallel_for(label, RangePolicy(exec, 0, grid.count()), [=](std::int64_t item) {
    const int piece = static_cast<int>(item) % grid.rows.pieces;
    const int row = grid.rows.begin(piece);
    const int column = static_cast<int>(item) / grid.rows.pieces * kPanel;
    const int columns = std::min(kPanel, grid.columns - column);
    ConstMatrix a_tile = a;
    ConstMatrix b_tile = b;
    a_tile.data += row;
    b_tile.data += column;
    with_tile(grid.rows.size(piece), columns, [&]<int R, int V>() {
      sum_blocks<R, V>(schedule, partials, offset + row * c_row + column, c_row, columns, a_tile,
                       b_tile);
    });
  });
}

}  // namespace quern

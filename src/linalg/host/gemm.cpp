// SPDX-License-Identifier: Apache-2.0
#include "linalg/host/gemm.hpp"

#include <algorithm>

#include "base/ceil_div.hpp"
#include "linalg/host/gemm_tile.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

static_assert(simd::kWidth == kLanes);

using simd::EvenSplit;
using simd::FixedSplit;
using simd::kBlockVectors;
using simd::Known;
using simd::kRows;
using simd::kTallRows;
using simd::kVectors;
using simd::Steps;
using simd::Tile;

// Rows that a tile of V vectors may have.
constexpr int product_rows(int vectors) {
  return 2 * vectors <= kVectors ? kTallRows : kRows;
}

// Sums of blocks take panels of two: on Zen 5 a step of W1 or W7 is 0.8 % shorter than with four.
constexpr int kBlockSumVectors = std::min(kVectors, 2);

// The same for sums of blocks: a power of two, so that a tile's rows are columns of one panel of A.
constexpr int block_rows(int vectors) {
  int rows = 1;
  while (2 * rows * vectors <= kBlockVectors) rows *= 2;
  return rows;
}
static_assert(kLanes % block_rows(1) == 0);

// Calls f<R, V>() for a tile of `rows` rows, at most LargestRows(V), and `vectors` vectors.
template <auto LargestRows, class F>
void with_tile(int rows, int vectors, F&& f) {
  simd::with_constant<kVectors>(vectors, [&]<int V>() {
    simd::with_constant<LargestRows(V)>(rows, [&]<int R>() { f.template operator()<R, V>(); });
  });
}

struct TilePlace {
  int row;
  int rows;
  int column;
  int columns;

  int vectors() const { return ceil_div(columns, kLanes); }
};

// The tiles of an m x n result as one range, rows running fastest so that neighbours share a panel
// of B.
template <class RowSplit>
struct TileGrid {
  int columns;
  EvenSplit panels;  // of vectors
  RowSplit rows;

  template <class LargestRows>
  TileGrid(int m, int n, int vectors, LargestRows largest)
      : columns(n), panels(ceil_div(n, kLanes), vectors), rows(m, largest(panels.size(0))) {}

  std::int64_t count() const { return std::int64_t{rows.pieces} * panels.pieces; }

  TilePlace operator[](std::int64_t tile) const {
    const int panel = static_cast<int>(tile / rows.pieces);
    const int piece = static_cast<int>(tile - std::int64_t{panel} * rows.pieces);
    const int column = kLanes * panels.begin(panel);
    return {rows.begin(piece), rows.size(piece), column,
            std::min(kLanes * panels.size(panel), columns - column)};
  }
};

template <class M>
Steps steps_of(const M& matrix) {
  return {matrix.stride, matrix.panel};
}

using Panels = Known<kLanes>;

// Calls f(stride of A, stride of B): known, if both lie in panels.
template <class F>
void with_strides(const ConstMatrix& a, const ConstMatrix& b, F&& f) {
  if (a.stride == kLanes && b.stride == kLanes) {
    f(Panels{}, Panels{});
  } else {
    f(a.stride, b.stride);
  }
}

template <int R, int V, class Stride>
void multiply_tile(Tile<R, V>& tile, const ConstMatrix& a, const ConstMatrix& b, Stride a_stride,
                   Stride b_stride) {
  tile.clear();
  const float* a_panel = a.data;
  const float* b_rows = b.data;
  int k = 0;
  for (; k + kLanes <= a.columns; k += kLanes, a_panel += a.panel, b_rows += kLanes * b_stride) {
    // The next panel is too far away for the processor to guess.
    for (int r = 0; r < R; ++r) simd::prefetch(a_panel + a.panel + r * a_stride);
    tile.multiply_add(Known<kLanes>{}, a_panel, a_stride, Known<1>{}, b_rows, b_stride, b.panel);
  }
  if (k < a.columns) {
    tile.multiply_add(a.columns - k, a_panel, a_stride, Known<1>{}, b_rows, b_stride, b.panel);
  }
}

template <int R, int V, class Stride>
void sum_blocks(const BlockSchedule& schedule, float* c, std::int64_t partial_stride,
                const Steps& c_step, int columns, const ConstMatrix& a, const ConstMatrix& b,
                Stride a_stride, Stride b_stride) {
  Tile<R, V>::prefetch_target(c, c_step);
  constexpr int kSize = Tile<R, V>::kFloats;
  alignas(64) float stack[BlockSchedule::kMaxDepth * kSize];
  float* top = stack;
  Tile<R, V> tile;
  for (int block = 0; block < schedule.num_blocks; ++block) {
    const std::int64_t row = std::int64_t{block} * schedule.block_rows;
    tile.clear();
    tile.multiply_add(schedule.block_rows, a.data + row * a_stride, Known<1>{}, a_stride,
                      b.data + row * b_stride, b_stride, b.panel);
    for (int merge = 0; merge < schedule.host_merges(block); ++merge) tile.add_left(top -= kSize);
    // One sum is all of it: the rank has a whole subtree of the batch, as a rank alone does.
    if (top == stack && block + 1 == schedule.num_blocks) return tile.store_to(c, c_step, columns);
    tile.save(top);
    top += kSize;
  }
  for (const float* partial = stack; partial < top; partial += kSize, c += partial_stride) {
    tile.restore(partial);
    tile.store_to(c, c_step, columns);
  }
}

// The parts of A and B that a tile reads, by rows of A or by columns.
ConstMatrix from(ConstMatrix matrix, int row, int column) {
  matrix.data += matrix.place(row, column);
  return matrix;
}

}  // namespace

void multiply(const ExecSpace& exec, const std::string& label, const Matrix& c,
              const ConstMatrix& a, const ConstMatrix& b, const Epilogue& epilogue) {
  const TileGrid<EvenSplit> grid(c.rows, c.columns, kVectors, product_rows);
  with_strides(a, b, [&](auto a_stride, auto b_stride) {
    quern::parallel_for(label, RangePolicy(exec, 0, grid.count()), [=](std::int64_t item) {
      const TilePlace place = grid[item];
      const std::int64_t target = c.place(place.row, place.column);
      const Steps c_step = steps_of(c);
      with_tile<product_rows>(place.rows, place.vectors(), [&]<int R, int V>() {
        Tile<R, V>::prefetch_target(c.data + target, c_step);
        Tile<R, V> tile;
        multiply_tile(tile, from(a, place.row, 0), from(b, 0, place.column), a_stride, b_stride);
        if (epilogue.bias) tile.add_to_rows(epilogue.bias + place.column);
        if (epilogue.relu) tile.apply_relu();
        if (epilogue.relu_mask) tile.apply_relu_backward(epilogue.relu_mask + target, c_step);
        tile.store_to(c.data + target, c_step, place.columns);
      });
    });
  });
}

void multiply_blocks(const ExecSpace& exec, const std::string& label, const BlockSchedule& schedule,
                     const GradientSums& partial_sums, const GradientPlace& gradient,
                     const ConstMatrix& a, const ConstMatrix& b) {
  const TileGrid<FixedSplit> grid(a.columns, b.columns, kBlockSumVectors, block_rows);
  const Matrix target{partial_sums.data.data() + gradient.offset, a.columns, b.columns,
                      gradient.stride, gradient.panel};
  // Kernels of the host are complete when their launch returns. Copies of views would be counted.
  with_strides(a, b, [&](auto a_stride, auto b_stride) {
    quern::parallel_for(label, RangePolicy(exec, 0, grid.count()), [&](std::int64_t item) {
      const TilePlace place = grid[item];
      float* c = target.data + target.place(place.row, place.column);
      with_tile<block_rows>(place.rows, place.vectors(), [&]<int R, int V>() {
        sum_blocks<R, V>(schedule, c, partial_sums.stride, steps_of(target), place.columns,
                         from(a, 0, place.row), from(b, 0, place.column), a_stride, b_stride);
      });
    });
  });
}

}  // namespace quern::host

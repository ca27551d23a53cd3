// SPDX-License-Identifier: Apache-2.0
// Products of row-major matrices as problems of linalg/device/tensor_product.hpp.
#pragma once

#include <type_traits>

#include "base/ceil_div.hpp"
#include "linalg/device/rounded_panel.hpp"
#include "linalg/device/tensor_product.hpp"
#include "linalg/gemm.hpp"

namespace quern::device {

/// The first `count` of four floats from a 16 byte boundary on, and zeros; all are there if count
/// is larger.
KOKKOS_INLINE_FUNCTION Four read_first(const float* from, int count) {
  if (count >= 4) return read_four(from);
  Four four{};
  for (int i = 0; i < 3; ++i)
    if (i < count) four.value[i] = from[i];
  return four;
}

/// A tile of the result and the k that it sums.
struct MatrixWork {
  int outer[2];  ///< the tile's first row (of A), first column (of B)
  int k;
  int end;
  int panels;
  int slice;  ///< counted from the first block of the launch
};

/// A or B (Side 0 or 1) whose neighbours in memory are neighbours in k: data [outer, k].
template <int Side>
struct DepthFirstMatrix {
  struct Column {
    const float* data;
    int left;   ///< k from here to the end
    int lines;  ///< of the outer dimension from here to the end
  };
  using Place = Column;
  const float* data;
  std::int64_t stride;
  int outer;

  KOKKOS_INLINE_FUNCTION Column column(const MatrixWork& work, int k) const {
    return {data + work.outer[Side] * stride + work.k + k, work.end - work.k - k,
            outer - work.outer[Side]};
  }
  KOKKOS_INLINE_FUNCTION int offset(const MatrixWork&, int line) const { return line; }
  KOKKOS_INLINE_FUNCTION Place place(const Column& column, int panel) const {
    return {column.data + panel * kPanelDepth, column.left - panel * kPanelDepth, column.lines};
  }
  KOKKOS_INLINE_FUNCTION Four read(const Place& place, int line) const {
    return line < place.lines ? read_first(place.data + line * stride, place.left) : Four{};
  }
};

/// A or B whose neighbours in memory are rows of A (columns of B): data [k, outer].
template <int Side>
struct OuterFirstMatrix {
  struct Column {
    const float* data;
    int left;  ///< of the outer dimension
    int k;     ///< from here to the end
  };
  using Place = Column;
  const float* data;
  std::int64_t stride;
  int outer;

  KOKKOS_INLINE_FUNCTION Column column(const MatrixWork& work, int o) const {
    return {data + work.k * stride + work.outer[Side] + o, outer - work.outer[Side] - o,
            work.end - work.k};
  }
  KOKKOS_INLINE_FUNCTION int offset(const MatrixWork&, int line) const { return line; }
  KOKKOS_INLINE_FUNCTION Place place(const Column& column, int panel) const {
    return {column.data + panel * kPanelDepth * stride, column.left,
            column.k - panel * kPanelDepth};
  }
  KOKKOS_INLINE_FUNCTION Four read(const Place& place, int line) const {
    return line < place.k ? read_first(place.data + line * stride, place.left) : Four{};
  }
};

/// How a result is cut into the tiles of teams.
template <int RowTiles>
struct MatrixTiles {
  int rows;
  int columns;

  KOKKOS_INLINE_FUNCTION int column_tiles() const { return ceil_div(columns, kTeamColumns); }
  int count() const { return ceil_div(rows, 16 * RowTiles) * column_tiles(); }
  /// Tile `tile`, depth [begin, end).
  KOKKOS_INLINE_FUNCTION MatrixWork work(int tile, int begin, int end, int slice) const {
    return {{tile / column_tiles() * 16 * RowTiles, tile % column_tiles() * kTeamColumns},
            begin,
            end,
            ceil_div(end - begin, kPanelDepth),
            slice};
  }
};

/// C = epilogue(A B). B: neighbours in k, if BDepthFirst.
template <int RowTiles, bool BDepthFirst>
struct EpilogueProblem {
  static constexpr int kRowTiles = RowTiles;
  static constexpr bool kADepthFirst = true;
  static constexpr bool kBDepthFirst = BDepthFirst;
  using A = DepthFirstMatrix<0>;
  using B = std::conditional_t<BDepthFirst, DepthFirstMatrix<1>, OuterFirstMatrix<1>>;
  using Target = int;  // the first column
  A a;
  B b;
  int depth;
  Matrix c;
  Epilogue epilogue;

  KOKKOS_INLINE_FUNCTION MatrixTiles<RowTiles> tiles() const { return {c.rows, c.columns}; }
  KOKKOS_INLINE_FUNCTION MatrixWork work(int team) const { return tiles().work(team, 0, depth, 0); }
  KOKKOS_INLINE_FUNCTION int next(const MatrixWork&, int panel) const { return panel; }
  KOKKOS_INLINE_FUNCTION Target target(const MatrixWork& work, int tile) const {
    return work.outer[1] + 16 * tile;
  }
  KOKKOS_INLINE_FUNCTION void store(const MatrixWork& work, Target first, int row, int column,
                                    float sum) const {
    const int i = work.outer[0] + row;
    const int j = first + column;
    if (i >= c.rows || j >= c.columns) return;
    const std::int64_t at = i * c.stride + j;
    c.data[at] = epilogue.apply(sum, j, at);
  }
};

/// sums[block] = A^T B over the rows of a block, A [rows, m], B [rows, n]; rows of a sum are
/// `stride` floats, zero after n.
template <int RowTiles>
struct BlocksProblem {
  static constexpr int kRowTiles = RowTiles;
  static constexpr bool kADepthFirst = false;
  static constexpr bool kBDepthFirst = false;
  using A = OuterFirstMatrix<0>;
  using B = OuterFirstMatrix<1>;
  struct Target {
    float* row;  ///< the tile's first
    int column;
  };
  A a;
  B b;
  int stride;
  int block_rows;
  int first_block;
  int num_blocks;
  float* sums;

  KOKKOS_INLINE_FUNCTION MatrixTiles<RowTiles> tiles() const { return {a.outer, stride}; }
  std::int64_t num_teams() const { return std::int64_t{num_blocks} * tiles().count(); }
  KOKKOS_INLINE_FUNCTION MatrixWork work(int team) const {
    const int block = team % num_blocks;
    const int begin = (first_block + block) * block_rows;
    return tiles().work(team / num_blocks, begin, begin + block_rows, block);
  }
  KOKKOS_INLINE_FUNCTION int next(const MatrixWork&, int panel) const { return panel; }
  KOKKOS_INLINE_FUNCTION Target target(const MatrixWork& work, int tile) const {
    return {sums + (std::int64_t{work.slice} * a.outer + work.outer[0]) * stride,
            work.outer[1] + 16 * tile};
  }
  KOKKOS_INLINE_FUNCTION void store(const MatrixWork& work, const Target& to, int row, int column,
                                    float sum) const {
    const int j = to.column + column;
    if (work.outer[0] + row < a.outer && j < stride) to.row[std::int64_t{row} * stride + j] = sum;
  }
};

}  // namespace quern::device

// SPDX-License-Identifier: Apache-2.0
// What becomes of the sums of a TiledProduct.
#pragma once

#include "linalg/block_schedule.hpp"
#include "linalg/device/tiled_product.hpp"
#include "linalg/gemm.hpp"

namespace quern::device {

/// C = epilogue(sums); one block only.
struct EpilogueOutput {
  Matrix c;
  Epilogue epilogue;

  template <class Shape>
  struct State {};

  template <class Shape>
  KOKKOS_INLINE_FUNCTION void finish_block(State<Shape>&, int, const MicroTile<Shape>& tile,
                                           int row, int column) const {
    store(tile, row, column);
  }

  /// The one block is stored already.
  template <class Shape>
  KOKKOS_INLINE_FUNCTION void finish(State<Shape>&, int, int) const {}

  template <class Shape>
  KOKKOS_INLINE_FUNCTION void store(const MicroTile<Shape>& tile, int row, int column) const {
    for (int r = 0; r < Shape::kMicroRows; ++r) {
      for (int k = 0; k < Shape::kMicroColumns; ++k) {
        const int j = column + k;
        if (row + r >= c.rows || j >= c.columns) continue;
        const std::int64_t at = (row + r) * c.stride + j;
        c.data[at] = epilogue.apply(tile.sum[r][k], j, at);
      }
    }
  }
};

/// The sums of blocks, added by the block tree. StackDepth: at least schedule.depth.
template <int StackDepth>
struct PartialSumsOutput {
  const int* merges;
  float* partial_sums;  ///< element (0, 0) of the first partial sum
  std::int64_t partial_stride;
  std::int64_t row_stride;
  int num_partial_sums;
  int rows;
  int columns;
  float* sums;  ///< where row `rows` of the first partial sum goes, or null if there is none

  template <class Shape>
  struct State {
    MicroTile<Shape> stack[StackDepth];
    int top = 0;
  };

  template <class Shape>
  KOKKOS_INLINE_FUNCTION void finish_block(State<Shape>& state, int block,
                                           const MicroTile<Shape>& tile, int, int) const {
    MicroTile<Shape> sum = tile;
    for (int merge = merges[block]; merge > 0; --merge) {
      const MicroTile<Shape>& left = state.stack[--state.top];
      for (int r = 0; r < Shape::kMicroRows; ++r)
        for (int c = 0; c < Shape::kMicroColumns; ++c) sum.sum[r][c] += left.sum[r][c];
    }
    state.stack[state.top++] = sum;
  }

  template <class Shape>
  KOKKOS_INLINE_FUNCTION void finish(State<Shape>& state, int row, int column) const {
    for (int p = 0; p < num_partial_sums; ++p) {
      for (int r = 0; r < Shape::kMicroRows; ++r) {
        for (int c = 0; c < Shape::kMicroColumns; ++c) {
          if (column + c >= columns) continue;
          float* to = nullptr;
          if (row + r < rows) to = partial_sums + (row + r) * row_stride;
          if (row + r == rows) to = sums;
          if (to) to[p * partial_stride + column + c] = state.stack[p].sum[r][c];
        }
      }
    }
  }
};

}  // namespace quern::device

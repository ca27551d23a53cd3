// SPDX-License-Identifier: Apache-2.0
// The one kernel that every dense product runs on a device.
//
// A team computes one tile of the result, each of its threads a micro-tile in registers. Panels of
// both operands go through scratch memory: while the threads multiply one panel, the next is on its
// way into registers. Depth (k) is never split, so every element is one chain of fused
// multiply-adds over k in ascending order, restarted where a block begins: the same chain as on a
// CPU, whatever the tile is.
#pragma once

#include <cstdint>

#include "base/ceil_div.hpp"
#include "tensor/team.hpp"

namespace quern::device {

/// Rows x Columns of a team, MicroRows x MicroColumns of a thread, panels of Depth.
template <int Rows, int Columns, int MicroRows, int MicroColumns, int Depth>
struct TileShape {
  static constexpr int kRows = Rows;
  static constexpr int kColumns = Columns;
  static constexpr int kMicroRows = MicroRows;
  static constexpr int kMicroColumns = MicroColumns;
  static constexpr int kDepth = Depth;
  static constexpr int kThreads = Rows / MicroRows * (Columns / MicroColumns);
};

/// One side of a product: `outer` rows of A or columns of B, of length k.
struct Operand {
  const float* data;
  int outer;
  std::int64_t outer_step;  ///< floats from one row of A (column of B) to the next
  std::int64_t depth_step;  ///< floats from one k to the next; this or outer_step is 1
  int ones = -1;            ///< a row or column that is not in memory: all its elements are 1

  KOKKOS_INLINE_FUNCTION float at(int o, std::int64_t k) const {
    return o == ones ? 1.0f : data[o * outer_step + k * depth_step];
  }
};

/// What the k of a product are: `blocks` blocks of `block_depth`, each with a chain of its own.
struct DepthBlocks {
  int blocks;
  int block_depth;
};

/// A panel of one operand in scratch memory, [Shape::kDepth, Outer padded]: how the threads of a
/// team fill it together. DepthFirst: neighbours in memory are neighbours in k.
template <int Outer, int Depth, bool DepthFirst, int Threads>
struct Panel {
  static constexpr int kStride = Outer + 4;  // whole 16 bytes, and fewer bank conflicts
  static constexpr int kFloats = kStride * Depth;
  static constexpr int kShare = ceil_div(Outer * Depth, Threads);

  float share[kShare];  ///< what this thread has read of the panel to come

  KOKKOS_INLINE_FUNCTION static int outer(int e) { return DepthFirst ? e / Depth : e % Outer; }
  KOKKOS_INLINE_FUNCTION static int depth(int e) { return DepthFirst ? e % Depth : e / Outer; }

  /// Reads `count` k from `begin` on of the tile that begins at `first`; what is outside is 0.
  KOKKOS_INLINE_FUNCTION void read(const Operand& from, int first, std::int64_t begin, int count,
                                   int thread) {
    for (int i = 0; i < kShare; ++i) {
      const int e = thread + i * Threads;
      const int o = first + outer(e);
      const bool inside = e < Outer * Depth && o < from.outer && depth(e) < count;
      share[i] = inside ? from.at(o, begin + depth(e)) : 0;
    }
  }

  KOKKOS_INLINE_FUNCTION void write(float* panel, int thread) const {
    for (int i = 0; i < kShare; ++i) {
      const int e = thread + i * Threads;
      if (e < Outer * Depth) panel[depth(e) * kStride + outer(e)] = share[i];
    }
  }
};

/// The sums of one micro-tile.
template <class Shape>
struct MicroTile {
  float sum[Shape::kMicroRows][Shape::kMicroColumns];

  KOKKOS_INLINE_FUNCTION void clear() {
    for (auto& row : sum)
      for (float& element : row) element = 0;
  }

  /// sum += a b^T for `count` k, in ascending order. `a`, `b`: the micro-tile's corner of the
  /// panels.
  template <class Count>
  KOKKOS_INLINE_FUNCTION void multiply_add(const float* a, int a_stride, const float* b,
                                           int b_stride, Count count) {
    for (int k = 0; k < count; ++k) {
      for (int r = 0; r < Shape::kMicroRows; ++r)
        for (int c = 0; c < Shape::kMicroColumns; ++c)
          sum[r][c] = Kokkos::fma(a[k * a_stride + r], b[k * b_stride + c], sum[r][c]);
    }
  }
};

/// C = A B per block. Output: `template <class Shape> struct State`, a thread's own memory for a
/// micro-tile, and
///   finish_block(state, block, tile, row, column)   a block's sums are complete,
///   finish(state, row, column)                      all blocks are.
template <class Shape, bool ADepthFirst, bool BDepthFirst, class Output,
          int Threads = kTeamThreads<Shape::kThreads>>
struct TiledProduct {
  static constexpr int kThreads = Threads;
  static constexpr int kMicroTiles = Shape::kThreads / Threads;  // of a thread
  static_assert(kMicroTiles * Threads == Shape::kThreads);
  using PanelA = Panel<Shape::kRows, Shape::kDepth, ADepthFirst, Threads>;
  using PanelB = Panel<Shape::kColumns, Shape::kDepth, BDepthFirst, Threads>;
  static constexpr std::size_t kScratchBytes =
      scratch_bytes(2 * (PanelA::kFloats + PanelB::kFloats), 2);

  Operand a;
  Operand b;
  DepthBlocks depth;
  Output output;

  std::int64_t num_teams() const { return std::int64_t{column_tiles()} * row_tiles(); }
  KOKKOS_INLINE_FUNCTION int column_tiles() const { return ceil_div(b.outer, Shape::kColumns); }
  KOKKOS_INLINE_FUNCTION int row_tiles() const { return ceil_div(a.outer, Shape::kRows); }

  /// Place of micro-tile m of this thread inside the team's tile.
  KOKKOS_INLINE_FUNCTION static int row_of(int thread, int m) {
    return (thread + m * Threads) / (Shape::kColumns / Shape::kMicroColumns) * Shape::kMicroRows;
  }
  KOKKOS_INLINE_FUNCTION static int column_of(int thread, int m) {
    return (thread + m * Threads) % (Shape::kColumns / Shape::kMicroColumns) * Shape::kMicroColumns;
  }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const int thread = team.team_rank();
    const int first_row = team.league_rank() / column_tiles() * Shape::kRows;
    const int first_column = team.league_rank() % column_tiles() * Shape::kColumns;
    float* a_panels = scratch_floats(team, 2 * PanelA::kFloats);
    float* b_panels = scratch_floats(team, 2 * PanelB::kFloats);
    MicroTile<Shape> tiles[kMicroTiles];
    typename Output::template State<Shape> states[kMicroTiles];
    PanelA next_a;
    PanelB next_b;
    const int panels = ceil_div(depth.block_depth, Shape::kDepth);  // of a block
    const auto read = [&](int p) {
      const int begin = p % panels * Shape::kDepth;
      const int left = depth.block_depth - begin;
      const int count = left < Shape::kDepth ? left : Shape::kDepth;
      const std::int64_t k = std::int64_t{p / panels} * depth.block_depth + begin;
      next_a.read(a, first_row, k, count, thread);
      next_b.read(b, first_column, k, count, thread);
      return count;
    };
    for (MicroTile<Shape>& tile : tiles) tile.clear();
    int next_count = depth.blocks * panels > 0 ? read(0) : 0;
    for (int p = 0; p < depth.blocks * panels; ++p) {
      float* a_panel = a_panels + p % 2 * PanelA::kFloats;
      float* b_panel = b_panels + p % 2 * PanelB::kFloats;
      const int count = next_count;
      next_a.write(a_panel, thread);
      next_b.write(b_panel, thread);
      // Whoever is past this barrier has finished with the other two panels.
      team.team_barrier();
      if (p + 1 < depth.blocks * panels) next_count = read(p + 1);
      const bool block_ends = (p + 1) % panels == 0;
      for (int m = 0; m < kMicroTiles; ++m) {
        const float* a_corner = a_panel + row_of(thread, m);
        const float* b_corner = b_panel + column_of(thread, m);
        if (count == Shape::kDepth) {
          constexpr std::integral_constant<int, Shape::kDepth> kWhole;
          tiles[m].multiply_add(a_corner, PanelA::kStride, b_corner, PanelB::kStride, kWhole);
        } else {
          tiles[m].multiply_add(a_corner, PanelA::kStride, b_corner, PanelB::kStride, count);
        }
        if (!block_ends) continue;
        output.finish_block(states[m], p / panels, tiles[m], first_row + row_of(thread, m),
                            first_column + column_of(thread, m));
        tiles[m].clear();
      }
    }
    for (int m = 0; m < kMicroTiles; ++m) {
      output.finish(states[m], first_row + row_of(thread, m), first_column + column_of(thread, m));
    }
  }
};

}  // namespace quern::device

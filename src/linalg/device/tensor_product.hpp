// SPDX-License-Identifier: Apache-2.0
// The kernel of products of rounded operands, whose tiles tensor cores multiply. A Problem says
// what its operands are and where its results go, so the columns of a convolution need not be
// written to memory first.
#pragma once

#include "base/ceil_div.hpp"
#include "linalg/device/rounded_panel.hpp"
#include "linalg/device/tensor_tile.hpp"
#include "tensor/team.hpp"

namespace quern::device {

/// Columns of a team's tile of the result. It has 16 * Problem::kRowTiles rows.
inline constexpr int kTeamColumns = 64;

/// C = A B, sums over all panels of k in ascending order. Problem:
///   kRowTiles                            16 rows each
///   kADepthFirst, kBDepthFirst           are neighbours in memory neighbours in k?
///   A a; B b;                            sides of RoundedPanel (both types are named so)
///   Work work(team)                      what the team does; Work::panels: how many panels
///   int next(work, panel)                the first panel from `panel` on that is not all zeros
///   Target target(work, column_tile)     where 16 columns of the result go
///   store(work, target, row, column, sum)  one element; those that do not exist are left out
template <class Problem, class Operand, int Threads = kTeamThreads<128>, int Warp = kWarpThreads>
struct TensorProduct {
  static constexpr int kThreads = Threads;
  static constexpr int kWarps = Threads / Warp;
  static constexpr int kColumnTiles = kTeamColumns / 16;
  static constexpr int kOwnTiles = ceil_div(kColumnTiles, kWarps);  // columns of a warp
  static constexpr int kRowTiles = Problem::kRowTiles;
  using Stored = typename Operand::Stored;
  using Tile = TensorTile<Operand, Problem::kADepthFirst, Problem::kBDepthFirst, Warp>;
  using PanelA =
      RoundedPanel<typename Problem::A, Operand, 16 * kRowTiles, Problem::kADepthFirst, Threads>;
  using PanelB =
      RoundedPanel<typename Problem::B, Operand, kTeamColumns, Problem::kBDepthFirst, Threads>;
  static constexpr int kPatchStride = 16 + 4;
  static constexpr int kPatchFloats = 16 * kPatchStride;
  static constexpr std::int64_t kPanelBytes =
      std::int64_t{sizeof(Stored)} * (PanelA::kElements + PanelB::kElements);
  static constexpr std::int64_t kPatchBytes = std::int64_t{sizeof(float)} * kPatchFloats * kWarps;
  static constexpr std::int64_t kAlignment = 32;
  static constexpr std::size_t kScratchBytes = 2 * kPanelBytes + kPatchBytes + kAlignment;

  // Warps read tiles from 32 bytes on, lines a multiple of 16 bytes apart; a device has 48 KB.
  static_assert(kPanelBytes % kAlignment == 0);
  static_assert(PanelA::kElements * sizeof(Stored) % kAlignment == 0);
  static_assert(PanelA::kStride * sizeof(Stored) % 16 == 0);
  static_assert(PanelB::kStride * sizeof(Stored) % 16 == 0);
  static_assert(kScratchBytes <= 46 * 1024);

  Problem problem;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const { run(team); }

  /// TeamLike: Team, or in a test threads that do what its do.
  template <class TeamLike>
  KOKKOS_INLINE_FUNCTION void run(const TeamLike& team) const {
    const int thread = team.team_rank();
    const auto work = problem.work(team.league_rank());
    auto* scratch =
        static_cast<char*>(team.team_scratch(scratch_level())
                               .get_shmem_aligned(kScratchBytes - kAlignment, kAlignment));
    const auto panel_a = [&](int turn) {
      return reinterpret_cast<Stored*>(scratch + turn % 2 * kPanelBytes);
    };
    Tile tiles[kOwnTiles][kRowTiles];
    for (auto& column : tiles)
      for (Tile& tile : column) tile.clear();
    PanelA a;
    PanelB b;
    a.start(problem.a, work, thread);
    b.start(problem.b, work, thread);
    const auto read = [&](int panel) {
      if (panel >= work.panels) return;
      a.read(problem.a, panel);
      b.read(problem.b, panel);
    };
    int panel = problem.next(work, 0);
    read(panel);
    for (int turn = 0; panel < work.panels; ++turn) {
      Stored* to_a = panel_a(turn);
      Stored* to_b = to_a + PanelA::kElements;
      a.write(to_a, thread);
      b.write(to_b, thread);
      // Whoever is past this barrier has finished with the other two panels.
      team.team_barrier();
      panel = problem.next(work, panel + 1);
      read(panel);
      multiply(tiles, to_a, to_b, thread);
    }
    store(work, tiles, reinterpret_cast<float*>(scratch + 2 * kPanelBytes), thread);
  }

 private:
  KOKKOS_INLINE_FUNCTION static int column_tile(int thread, int own) {
    return thread / Warp + own * kWarps;
  }

  KOKKOS_INLINE_FUNCTION static void multiply(Tile (&tiles)[kOwnTiles][kRowTiles],
                                              const Stored* a_panel, const Stored* b_panel,
                                              int thread) {
    for (int own = 0; own < kOwnTiles; ++own) {
      const int tile = column_tile(thread, own);
      if (tile >= kColumnTiles) return;
      for (int k = 0; k < kPanelDepth; k += Operand::kDepth) {
        const typename Tile::B b(PanelB::tile(b_panel, tile * 16, k), PanelB::kStride);
        for (int r = 0; r < kRowTiles; ++r) {
          const typename Tile::A a(PanelA::tile(a_panel, r * 16, k), PanelA::kStride);
          tiles[own][r].multiply_add(a, b, thread % Warp);
        }
      }
    }
  }

  template <class Work>
  KOKKOS_INLINE_FUNCTION void store(const Work& work, const Tile (&tiles)[kOwnTiles][kRowTiles],
                                    float* patches, int thread) const {
    const int lane = thread % Warp;
    float* patch = patches + thread / Warp * kPatchFloats;
    for (int own = 0; own < kOwnTiles; ++own) {
      const int tile = column_tile(thread, own);
      if (tile >= kColumnTiles) return;
      const auto target = problem.target(work, tile);
      for (int r = 0; r < kRowTiles; ++r) {
        tiles[own][r].store(patch, kPatchStride, lane);
        for (int e = lane; e < 256; e += Warp) {
          problem.store(work, target, r * 16 + e / 16, e % 16,
                        patch[e / 16 * kPatchStride + e % 16]);
        }
      }
    }
  }
};

}  // namespace quern::device

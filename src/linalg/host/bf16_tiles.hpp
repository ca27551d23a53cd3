// SPDX-License-Identifier: Apache-2.0
// Products of tiles of bfloat16 with sums in float, in one of two orders. Each is that of an
// instruction, and vector registers have the same bits on every processor.
//
// A tile is 1 KB of neighbouring bytes:
//   of A   [16 rows m][32 k]          a row: 32 values along k
//   of B   [16 pairs of k][16 n][2]   a row: for 16 columns the values of two neighbouring k
//   of C   [16 m][16 n] floats
// One step adds the product of an A and a B tile to a C tile:
//   by tiles   as TDPBF16PS (AMX): for each element one chain of fused multiply-adds over the even
//              k and one over the odd, each from zero, k ascending; then c + (even + odd)
//   by pairs   as VDPBF16PS (AVX512_BF16): one chain from c on, k = 1, 0, 3, 2, 5, 4, ..
// Denormals are zero, going in and coming out: vector registers rely on the calling thread's
// setting, which run_on_ranks makes (base/flush_denormals.hpp). Reference:
// linalg/reference/bf16_tiles.hpp.
#pragma once

#include <cstdint>

#include "tensor/operand_precision.hpp"

namespace quern::host {

using Bf16 = std::uint16_t;

inline constexpr int kTileRows = 16;   ///< of A and C; columns of B and C
inline constexpr int kTileDepth = 32;  ///< k of one step
inline constexpr int kTileBf16 = kTileRows * kTileDepth;
inline constexpr int kTileFloats = kTileRows * kTileRows;

/// Which tiles are multiplied: `outer` times `inner` steps along k. Distances are in bfloat16;
/// tiles begin on 4 bytes, and are quickest on 64.
struct TileWalk {
  const Bf16* a;
  const Bf16* b;
  std::int64_t a_row = 0;     ///< to the A tile of the next 16 rows of C
  std::int64_t b_column = 0;  ///< to the B tile of the next 16 columns of C
  int inner = 1;
  std::int64_t a_inner = kTileBf16;  ///< from one step to the next
  std::int64_t b_inner = kTileBf16;
  int outer = 1;
  std::int64_t a_outer = 0;  ///< from the first of `inner` steps to the next first
  std::int64_t b_outer = 0;
  /// Pairs of k of the last of `inner` steps whose products may not be zero. A unit may leave the
  /// others out, but then keeps the sign of a sum that is zero.
  int last_pairs = kTileDepth / 2;
};

/// A block of tiles of C, 1 or 2 each way.
struct TileBlock {
  int rows = 2;
  int columns = 2;
  /// Go on from what is in C? Otherwise from zero.
  bool add = false;
  /// Tile (i, j) is in memory number j * rows + i, otherwise i * columns + j.
  bool by_columns = false;
  /// Rows of C that are read by anybody. What a unit puts into the others is anything finite.
  int used_rows = 2 * kTileRows;

  /// Floats from tile (i, j) to (i, j + 1), and to (i + 1, j).
  int right() const { return (by_columns ? rows : 1) * kTileFloats; }
  int down() const { return (by_columns ? 1 : columns) * kTileFloats; }
};

/// What multiplies tiles.
struct TileUnit {
  const char* name;
  OperandPrecision precision;  ///< bf16: by tiles; bf16_pairs
  /// C = (block.add ? C : 0) + A B, over the steps of the walk, in their order. No aliasing.
  void (*multiply)(const TileWalk& walk, const TileBlock& block, float* c);
};

/// The vector registers: on every processor.
const TileUnit& vector_tile_unit();
/// Intel AMX; null where processor, system or compiler have none (base/amx.hpp).
const TileUnit* amx_tile_unit();

/// By pairs: the vector registers, on every processor.
const TileUnit& vector_pair_unit();
/// AVX512_BF16; null where the processor has none, or this code is not for AVX-512.
const TileUnit* avx512_bf16_unit();

/// The best of this processor for bf16 or bf16_pairs, or what was chosen.
const TileUnit& tile_unit(OperandPrecision precision = OperandPrecision::bf16);
/// For a user's wish and for tests: from now on, for its precision. Not while kernels run.
void choose_tile_unit(const TileUnit& unit);

}  // namespace quern::host

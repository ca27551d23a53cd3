// SPDX-License-Identifier: Apache-2.0
// An output that is read where it is computed, while it is in a cache: no array holds it.
#pragma once

#include "tensor/operand_tiles.hpp"

namespace quern {

/// What a layer calls with its output in place of writing it, on a CPU: layers do not know of
/// losses.
class OutputReader {
 public:
  /// Of a sample tile (tensor/operand_tiles.hpp), for the reader alone.
  static constexpr int kStateFloats = 96 * OperandTiles::kDepth;

  virtual ~OutputReader() = default;

  /// Reads the 16 units from `unit` on of a sample tile: rows [groups][16 units][16 rows], zero in
  /// units beyond the last. One thread calls it for all units of a tile, rounded up as tiles are,
  /// in ascending order, with the same kStateFloats floats at `state`, on 64 bytes and not
  /// initialised. Threads call it for different tiles at once.
  virtual void read(int tile, int unit, const float* rows, float* state) const = 0;
};

}  // namespace quern

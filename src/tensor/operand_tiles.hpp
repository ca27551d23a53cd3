// SPDX-License-Identifier: Apache-2.0
// Layout::tiles: an activation of bfloat16 as the products of linalg/host/bf16_tiles.hpp read it.
// A tile is 1 KB: 16 rows of 32 values, or of 16 pairs.
//
//   by_unit    [rows / 16][units / 2][16 rows][2 units]   for products over the units
//   by_sample  for products over the samples, by sample tiles: 32 rows of one micro-block, or what
//              is left of it (then the rest is zero):
//     of values     [tiles][units][32 rows]
//     of gradients  [tiles][units / 16][16 pairs of rows][16 units][2 rows]
//
// Units are rounded up to 32; what is added is zero. Values and their gradients differ in by_sample
// because a weight gradient multiplies the one by the other.
#pragma once

#include "base/ceil_div.hpp"
#include "tensor/activation.hpp"

namespace quern {

struct OperandTiles {
  using Bf16 = std::uint16_t;

  static constexpr int kDepth = 32;  ///< of a tile: units, or samples

  Bf16* by_unit = nullptr;
  Bf16* by_sample = nullptr;
  int units = 0;             ///< rounded up
  int num_groups = 0;        ///< of 16 rows
  int groups_per_block = 0;  ///< of a micro-block
  int tiles_per_block = 0;   ///< sample tiles of a micro-block

  OperandTiles() = default;
  explicit OperandTiles(const Activation& a)
      : OperandTiles(a.data.data(), a.shape.units(), a.rows, a.block_rows) {}
  /// In floats(units, rows) floats from `data` on, on 64 bytes.
  OperandTiles(float* data, int wanted_units, int rows, int block_rows)
      : by_unit(reinterpret_cast<Bf16*>(data)),
        units(round_up(wanted_units)),
        num_groups(rows / kLanes),
        groups_per_block(block_rows / kLanes),
        tiles_per_block((groups_per_block + 1) / 2) {
    by_sample = by_unit + std::int64_t{num_groups} * group_step();
  }

  static constexpr int round_up(int units) { return quern::round_up(units, kDepth); }
  /// Room for any size of a micro-block.
  static constexpr std::int64_t floats(int units, int rows) {
    const std::int64_t groups = rows / kLanes;
    return groups * round_up(units) * (kLanes / 2) + groups * round_up(units) * kLanes;
  }

  /// Values from one group of by_unit to the next, from one sample tile to the next.
  std::int64_t group_step() const { return std::int64_t{units} * kLanes; }
  std::int64_t tile_step() const { return std::int64_t{units} * kDepth; }

  int num_tiles() const {
    return groups_per_block > 0 ? num_groups / groups_per_block * tiles_per_block : 0;
  }
  int first_group(int tile) const {
    return tile / tiles_per_block * groups_per_block + tile % tiles_per_block * 2;
  }
  /// 2, or 1 at the end of a micro-block.
  int groups_of(int tile) const {
    return groups_per_block - tile % tiles_per_block * 2 > 1 ? 2 : 1;
  }

  /// Where the pairs (unit, unit + 1) of a group's 16 rows begin; `unit` is even.
  Bf16* pairs(int group, int unit) const {
    return by_unit + group * group_step() + std::int64_t{unit} * kLanes;
  }
  /// Where a unit's 32 rows begin.
  Bf16* value_rows(int tile, int unit) const {
    return by_sample + tile * tile_step() + std::int64_t{unit} * kDepth;
  }
  /// Where the tile of the units from `unit` on begins, a multiple of 16.
  Bf16* gradient_tile(int tile, int unit) const { return value_rows(tile, unit); }

  /// Place of a value in by_unit.
  std::int64_t place(int row, int unit) const {
    return row / kLanes * group_step() + (unit / 2 * kLanes + row % kLanes) * 2 + unit % 2;
  }
};

}  // namespace quern

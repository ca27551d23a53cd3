// SPDX-License-Identifier: Apache-2.0
// Layout::tiles as tests see it, and the arithmetic of products on tiles for one element at a time.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "linalg/host/bf16_tiles.hpp"
#include "linalg/reference/bf16_tiles.hpp"
#include "support/views.hpp"
#include "tensor/operand_tiles.hpp"
#include "tensor/output_reader.hpp"

namespace quern::test {

/// Multiplies tiles on `unit` for a scope.
class WithTileUnit {
 public:
  explicit WithTileUnit(const host::TileUnit& unit) : before_(host::tile_unit(unit.precision)) {
    host::choose_tile_unit(unit);
  }
  ~WithTileUnit() { host::choose_tile_unit(before_); }
  WithTileUnit(const WithTileUnit&) = delete;
  WithTileUnit& operator=(const WithTileUnit&) = delete;

 private:
  const host::TileUnit& before_;
};

/// All that this processor has, of both orders.
inline std::vector<const host::TileUnit*> tile_units() {
  std::vector<const host::TileUnit*> units = {&host::vector_tile_unit()};
  if (host::amx_tile_unit()) units.push_back(host::amx_tile_unit());
  units.push_back(&host::vector_pair_unit());
  if (host::avx512_bf16_unit()) units.push_back(host::avx512_bf16_unit());
  return units;
}

inline float rounded(float value) {
  return reference::from_bf16(reference::to_bf16(value));
}
inline std::vector<float> rounded(std::vector<float> values) {
  for (float& value : values) value = rounded(value);
  return values;
}

/// Values as bfloat16 that follow each other, an even number of them, two in the room of a float.
inline std::vector<float> stored_as_bf16(const std::vector<float>& values) {
  std::vector<float> stored;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2)
    stored.push_back(std::bit_cast<float>(std::uint32_t{reference::to_bf16(values[i])} |
                                          std::uint32_t{reference::to_bf16(values[i + 1])} << 16));
  return stored;
}

/// c + a b by tile steps of 32 values, one after the other; `a` and `b` hold bfloat16s.
inline float sum_tile_steps(const std::vector<float>& a, const std::vector<float>& b, float c,
                            OperandPrecision precision = OperandPrecision::bf16) {
  for (std::size_t first = 0; first < a.size(); first += host::kTileDepth) {
    std::array<std::uint16_t, host::kTileDepth> row{};
    std::array<std::uint16_t, host::kTileBf16> column{};
    for (std::size_t k = 0; k < row.size() && first + k < a.size(); ++k) {
      row[k] = reference::to_bf16(a[first + k]);
      column[k / 2 * host::kTileDepth + k % 2] = reference::to_bf16(b[first + k]);
    }
    const auto product = precision == OperandPrecision::bf16_pairs ? reference::pair_product
                                                                   : reference::tile_product;
    c = product(row.data(), column.data(), 0, 0, c);
  }
  return c;
}

/// An activation in tiles full of garbage, which a kernel has to overwrite.
inline Activation tiles_to_fill(const Shape& shape, int rows, int block_rows) {
  Activation tiles = filled_activation(shape, Layout::tiles, rows, 777);
  tiles.block_rows = block_rows;
  return tiles;
}

enum class TileOrder { by_unit, by_sample_of_values, by_sample_of_gradients };

/// Where a value lies in an array of Layout::tiles, by the words of tensor/operand_tiles.hpp. `row`
/// may lie behind a micro-block's end, in its last sample tile: `tile` and its row count there.
inline float value_in_tile(const OperandTiles& t, TileOrder order, int tile, int row, int unit) {
  const std::int64_t first = std::int64_t{tile} * t.units * 32;
  const std::int64_t place = order == TileOrder::by_sample_of_values
                                 ? first + unit * 32 + row
                                 : first + unit / 16 * 512 + row / 2 * 32 + unit % 16 * 2 + row % 2;
  return reference::from_bf16(t.by_sample[place]);
}

inline float value_by_unit(const OperandTiles& t, int row, int unit) {
  const std::int64_t place =
      std::int64_t{row / 16} * t.units * 16 + unit / 2 * 32 + row % 16 * 2 + unit % 2;
  return reference::from_bf16(t.by_unit[place]);
}

/// Values [rows, units], rounded up to whole tiles, in one of their orders.
inline std::vector<float> values_in_tiles(const Activation& a, TileOrder order) {
  const OperandTiles tiles(a);
  std::vector<float> values;
  for (int row = 0; row < a.rows; ++row) {
    const int in_block = row % a.block_rows;
    const int tile = row / a.block_rows * tiles.tiles_per_block + in_block / 32;
    for (int unit = 0; unit < tiles.units; ++unit)
      values.push_back(order == TileOrder::by_unit
                           ? value_by_unit(tiles, row, unit)
                           : value_in_tile(tiles, order, tile, in_block % 32, unit));
  }
  return values;
}

/// Largest magnitude behind the last row of the micro-blocks, where a sample tile is not full.
inline float behind_last_rows(const Activation& a, TileOrder order) {
  const OperandTiles tiles(a);
  float largest = 0;
  for (int tile = 0; tile < tiles.num_tiles(); ++tile)
    for (int row = tiles.groups_of(tile) * 16; row < 32; ++row)
      for (int unit = 0; unit < tiles.units; ++unit)
        largest = std::max(largest, std::abs(value_in_tile(tiles, order, tile, row, unit)));
  return largest;
}

/// `values` [rows, units] with zeros up to whole tiles.
inline std::vector<float> padded_to_tiles(const std::vector<float>& values, int units) {
  const auto width = static_cast<std::size_t>(OperandTiles::round_up(units));
  const auto count = static_cast<std::size_t>(units);
  std::vector<float> padded;
  for (std::size_t first = 0; first < values.size(); first += count) {
    padded.insert(padded.end(), values.begin() + static_cast<std::ptrdiff_t>(first),
                  values.begin() + static_cast<std::ptrdiff_t>(first + count));
    padded.resize(padded.size() + width - count);
  }
  return padded;
}

/// Keeps an output that a layer hands over.
class KeptOutput final : public OutputReader {
 public:
  explicit KeptOutput(const OperandTiles& tiles)
      : tiles_(tiles),
        values_(static_cast<std::size_t>(tiles.num_groups * tiles.group_step()), 777.0f) {}

  void read(int tile, int unit, const float* rows, float* state) const override {
    EXPECT_EQ(unit, unit == 0 ? 0 : static_cast<int>(state[0]) + kLanes);  // in order
    state[0] = static_cast<float>(unit);
    state[kStateFloats - 1] = 0;
    for (int g = 0; g < tiles_.groups_of(tile); ++g) {
      for (int i = 0; i < kLanes * kLanes; ++i) {
        const int row = (tiles_.first_group(tile) + g) * kLanes + i % kLanes;
        values_[static_cast<std::size_t>(row * tiles_.units + unit + i / kLanes)] =
            rows[g * kLanes * kLanes + i];
      }
    }
  }

  /// [rows, units rounded up]
  const std::vector<float>& values() const { return values_; }

 private:
  OperandTiles tiles_;
  mutable std::vector<float> values_;
};

}  // namespace quern::test

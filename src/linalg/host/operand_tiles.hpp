// SPDX-License-Identifier: Apache-2.0
// Stores floats in Layout::tiles, as kernels of a CPU have them in registers.
#pragma once

#include "linalg/host/simd_bf16.hpp"
#include "linalg/host/simd_transpose.hpp"
#include "tensor/operand_tiles.hpp"

namespace quern::host {

/// Floats of 16 units in one group or two, as products put them out: rows [16 units][16 rows].
using UnitRows = const float*;

/// Writes 16 units from `unit` on, of one sample tile, by_unit: of its groups the rows `first` and,
/// if it has two, `second`. by_sample(u, the rounded values of all rows) gets them unit by unit.
template <class F>
[[gnu::always_inline]] inline void store_by_unit(const OperandTiles& to, int tile, int unit,
                                                 UnitRows first, UnitRows second,
                                                 const F& by_sample) {
  const int group = to.first_group(tile);
  for (int u = 0; u < kLanes; u += 2) {
    const simd::Vector a0 = simd::load(first + u * kLanes);
    const simd::Vector a1 = simd::load(first + (u + 1) * kLanes);
    simd::Vector b0{};
    simd::Vector b1{};
    simd::store_pairs(to.pairs(group, unit + u), simd::round_pairs(a0, a1));
    if (second) {
      b0 = simd::load(second + u * kLanes);
      b1 = simd::load(second + (u + 1) * kLanes);
      simd::store_pairs(to.pairs(group + 1, unit + u), simd::round_pairs(b0, b1));
    }
    by_sample(u, simd::round_sequence(a0, b0));
    by_sample(u + 1, simd::round_sequence(a1, b1));
  }
}

/// Writes values in both orders.
[[gnu::always_inline]] inline void store_values(const OperandTiles& to, int tile, int unit,
                                                UnitRows first, UnitRows second) {
  const auto by_sample = [&](int u, simd::Vector rounded) __attribute__((always_inline)) {
    simd::store_pairs(to.value_rows(tile, unit + u), rounded);
  };
  store_by_unit(to, tile, unit, first, second, by_sample);
}

/// The same for gradients.
[[gnu::always_inline]] inline void store_gradients(const OperandTiles& to, int tile, int unit,
                                                   UnitRows first, UnitRows second) {
  alignas(64) float sequences[kLanes * kLanes];
  const auto by_sample = [&](int u, simd::Vector rounded) __attribute__((always_inline)) {
    simd::store(sequences + u * kLanes, rounded);
  };
  store_by_unit(to, tile, unit, first, second, by_sample);
  simd::transpose_tile(sequences, kLanes, reinterpret_cast<float*>(to.gradient_tile(tile, unit)),
                       kLanes);
}

/// Writes the gradients of 16 units from `unit` on, of group `g` of a sample tile, out of rows
/// [16 rows][16 units]: two rows are the pairs that a gradient's tile wants.
[[gnu::always_inline]] inline void store_gradient_rows(const OperandTiles& to, int tile, int g,
                                                       int unit, const float* rows) {
  OperandTiles::Bf16* by_sample = to.gradient_tile(tile, unit) + g * kLanes * kLanes;
  for (int r = 0; r < kLanes; r += 2) {
    simd::store_pairs(
        by_sample + kLanes * r,
        simd::round_pairs(simd::load(rows + r * kLanes), simd::load(rows + (r + 1) * kLanes)));
  }
  alignas(64) float units[kLanes * kLanes];
  simd::transpose_tile(rows, kLanes, units, kLanes);
  for (int u = 0; u < kLanes; u += 2) {
    simd::store_pairs(
        to.pairs(to.first_group(tile) + g, unit + u),
        simd::round_pairs(simd::load(units + u * kLanes), simd::load(units + (u + 1) * kLanes)));
  }
}

/// Of a sample tile with one group: the zeros where the second one would be.
inline void store_no_gradient_rows(const OperandTiles& to, int tile, int unit) {
  OperandTiles::Bf16* by_sample = to.gradient_tile(tile, unit) + kLanes * kLanes;
  for (int r = 0; r < kLanes; r += 2) simd::store_pairs(by_sample + kLanes * r, simd::Vector{});
}

}  // namespace quern::host

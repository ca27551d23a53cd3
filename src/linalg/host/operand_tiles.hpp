// SPDX-License-Identifier: Apache-2.0
// Stores floats in Layout::tiles, as kernels of a CPU have them in registers.
#pragma once

#include "linalg/host/simd_bf16.hpp"
#include "linalg/host/simd_transpose.hpp"
#include "tensor/operand_tiles.hpp"

namespace quern::host {

/// Sixteen rows of two neighbouring units.
struct UnitPair {
  simd::Vector first;
  simd::Vector second;
};

/// Writes 16 units from `unit` on, of one sample tile, by_unit: of its groups g, and even u from 0
/// on, the rows rows(g, u) -> UnitPair. by_sample(u, the rounded values of all rows) gets them unit
/// by unit.
template <class Rows, class F>
[[gnu::always_inline]] inline void store_by_unit(const OperandTiles& to, int tile, int unit,
                                                 const Rows& rows, const F& by_sample) {
  const int group = to.first_group(tile);
  const bool has_two = to.groups_of(tile) > 1;
  for (int u = 0; u < kLanes; u += 2) {
    const UnitPair a = rows(0, u);
    UnitPair b{};
    simd::store_pairs(to.pairs(group, unit + u), simd::round_pairs(a.first, a.second));
    if (has_two) {
      b = rows(1, u);
      simd::store_pairs(to.pairs(group + 1, unit + u), simd::round_pairs(b.first, b.second));
    }
    by_sample(u, simd::round_sequence(a.first, b.first));
    by_sample(u + 1, simd::round_sequence(a.second, b.second));
  }
}

/// Writes values in both orders.
template <class Rows>
[[gnu::always_inline]] inline void store_values(const OperandTiles& to, int tile, int unit,
                                                const Rows& rows) {
  const auto by_sample = [&](int u, simd::Vector rounded) __attribute__((always_inline)) {
    simd::store_pairs(to.value_rows(tile, unit + u), rounded);
  };
  store_by_unit(to, tile, unit, rows, by_sample);
}

/// The same for gradients.
template <class Rows>
[[gnu::always_inline]] inline void store_gradients(const OperandTiles& to, int tile, int unit,
                                                   const Rows& rows) {
  alignas(64) float sequences[kLanes * kLanes];
  const auto by_sample = [&](int u, simd::Vector rounded) __attribute__((always_inline)) {
    simd::store(sequences + u * kLanes, rounded);
  };
  store_by_unit(to, tile, unit, rows, by_sample);
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

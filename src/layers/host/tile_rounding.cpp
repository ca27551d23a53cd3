// SPDX-License-Identifier: Apache-2.0
#include "layers/host/tile_rounding.hpp"

#include "linalg/host/operand_tiles.hpp"

namespace quern::host {

namespace {

constexpr int kPanelTile = kLanes * kLanes;

/// Calls f(sample tile, first unit) for all 16 units of all sample tiles, in parallel.
template <class F>
void for_each_part(const ExecSpace& exec, const char* label, const OperandTiles& tiles, F&& f) {
  const int parts = tiles.units / kLanes;
  Kokkos::parallel_for(label, RangePolicy(exec, 0, std::int64_t{tiles.num_tiles()} * parts),
                       [=](std::int64_t item) {
                         f(static_cast<int>(item / parts), static_cast<int>(item % parts) * kLanes);
                       });
}

/// Where 16 rows of 16 units begin in cn16c; null after the last panel.
struct Panels {
  float* data;
  std::int64_t stride;
  int units;

  explicit Panels(const Activation& a)
      : data(a.data.data()), stride(a.panel_stride()), units(a.shape.units()) {}

  float* at(int group, int unit) const {
    if (unit >= units) return nullptr;
    return data + unit / kLanes * stride + std::int64_t{group} * kPanelTile;
  }
};

constexpr float kZeros[kPanelTile] = {};

}  // namespace

void round_values(const ExecSpace& exec, const Activation& from, const OperandTiles& to) {
  const Panels panels(from);
  for_each_part(exec, "quern::layers::round_values", to, [=](int tile, int unit) {
    alignas(64) float rows[2][kPanelTile];
    const int groups = to.groups_of(tile);
    for (int g = 0; g < groups; ++g) {
      const float* panel = panels.at(to.first_group(tile) + g, unit);
      simd::transpose_tile(panel ? panel : kZeros, kLanes, rows[g], kLanes);
    }
    store_values(to, tile, unit, [&](int g, int u) {
      return UnitPair{simd::load(rows[g] + u * kLanes), simd::load(rows[g] + (u + 1) * kLanes)};
    });
  });
}

void round_gradients(const ExecSpace& exec, const Activation& from, const OperandTiles& to) {
  const Panels panels(from);
  for_each_part(exec, "quern::layers::round_gradients", to, [=](int tile, int unit) {
    for (int g = 0; g < to.groups_of(tile); ++g) {
      const float* panel = panels.at(to.first_group(tile) + g, unit);
      store_gradient_rows(to, tile, g, unit, panel ? panel : kZeros);
    }
    if (to.groups_of(tile) == 1) store_no_gradient_rows(to, tile, unit);
  });
}

void unround(const ExecSpace& exec, const OperandTiles& from, const Activation& to) {
  const Panels panels(to);
  for_each_part(exec, "quern::layers::unround", from, [=](int tile, int unit) {
    for (int g = 0; g < from.groups_of(tile); ++g) {
      const int group = from.first_group(tile) + g;
      float* panel = panels.at(group, unit);
      if (!panel) return;
      alignas(64) float units[kPanelTile];
      for (int u = 0; u < kLanes; u += 2) {
        const simd::Vector pairs = simd::load_pairs(from.pairs(group, unit + u));
        simd::store(units + u * kLanes, simd::first_of_pairs(pairs));
        simd::store(units + (u + 1) * kLanes, simd::second_of_pairs(pairs));
      }
      simd::transpose_tile(units, kLanes, panel, kLanes);
    }
  });
}

}  // namespace quern::host

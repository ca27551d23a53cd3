// SPDX-License-Identifier: Apache-2.0
#include "linalg/host/bf16_tiles.hpp"

namespace quern::host {

namespace {

const TileUnit* g_chosen = nullptr;
const TileUnit* g_chosen_by_pairs = nullptr;

const TileUnit& best_tile_unit() {
  const TileUnit* amx = amx_tile_unit();
  return amx ? *amx : vector_tile_unit();
}

const TileUnit& best_pair_unit() {
  const TileUnit* unit = avx512_bf16_unit();
  return unit ? *unit : vector_pair_unit();
}

}  // namespace

const TileUnit& tile_unit(OperandPrecision precision) {
  if (precision == OperandPrecision::bf16_pairs) {
    if (g_chosen_by_pairs) return *g_chosen_by_pairs;
    static const TileUnit& best = best_pair_unit();
    return best;
  }
  if (g_chosen) return *g_chosen;
  static const TileUnit& best = best_tile_unit();  // asks the system: not before it is needed
  return best;
}

void choose_tile_unit(const TileUnit& unit) {
  (unit.precision == OperandPrecision::bf16_pairs ? g_chosen_by_pairs : g_chosen) = &unit;
}

}  // namespace quern::host

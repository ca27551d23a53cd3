// SPDX-License-Identifier: Apache-2.0
#include "linalg/host/bf16_tiles.hpp"

namespace quern::host {

namespace {

const TileUnit* g_chosen = nullptr;

const TileUnit& best_unit() {
  const TileUnit* amx = amx_tile_unit();
  return amx ? *amx : vector_tile_unit();
}

}  // namespace

const TileUnit& tile_unit() {
  if (g_chosen) return *g_chosen;
  static const TileUnit& best = best_unit();  // asks the system: not before it is needed
  return best;
}

void choose_tile_unit(const TileUnit& unit) {
  g_chosen = &unit;
}

}  // namespace quern::host

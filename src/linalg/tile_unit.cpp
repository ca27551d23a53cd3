// SPDX-License-Identifier: Apache-2.0
#include "linalg/host/bf16_tiles.hpp"

namespace quern::host {

namespace {

const TileUnit*& chosen_unit() {
  static const TileUnit* unit = amx_tile_unit() ? amx_tile_unit() : &vector_tile_unit();
  return unit;
}

}  // namespace

const TileUnit& tile_unit() {
  return *chosen_unit();
}

void choose_tile_unit(const TileUnit& unit) {
  chosen_unit() = &unit;
}

}  // namespace quern::host

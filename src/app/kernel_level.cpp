// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_level.hpp"

#include <cstdlib>
#include <sstream>

#include "base/amx.hpp"
#include "cpu/choice.hpp"
#include "linalg/host/bf16_tiles.hpp"

namespace quern {

namespace {

/// Are the kernels those of a CPU?
constexpr bool kMultipliesTiles = QUERN_MULTIPLIES_TILES;

// The levels of an installation for many processors; otherwise there is this program only.
std::vector<cpu::Level> built_levels() {
  std::vector<cpu::Level> levels;
  std::istringstream names(QUERN_CPU_LEVELS);
  for (std::string name; names >> name;) {
    if (const auto level = cpu::level_named(name)) levels.push_back(*level);
  }
  return levels.empty() ? std::vector{cpu::compiled_level()} : levels;
}

}  // namespace

void take_kernels() {
  const char* wish = std::getenv(cpu::kWishVariable);
  cpu::check_wish(cpu::compiled_level(), built_levels(), cpu::machine_level(), ask_for_amx, wish);
  if constexpr (kMultipliesTiles) {
    if (!cpu::wishes_amx(wish)) host::choose_tile_unit(host::vector_tile_unit());
  }
}

std::string kernel_level_text() {
  const std::string march = QUERN_ARCH;
  return cpu::reason(cpu::compiled_level(), built_levels(), std::getenv(cpu::kWishVariable)) +
         (march.empty() ? "" : " (-march=" + march + ")");
}

std::string tiles_text() {
  if (!kMultipliesTiles) return "";
  return cpu::tiles_reason(ask_for_amx(), std::getenv(cpu::kWishVariable));
}

std::string pairs_text() {
  if constexpr (kMultipliesTiles) {
    if (const host::TileUnit* unit = host::avx512_bf16_unit()) return unit->name;
    const bool has_vectors = cpu::compiled_level() == cpu::Level::avx512;
    return has_vectors ? "vector registers (no AVX512_BF16 on this processor)"
                       : "vector registers (not compiled for AVX-512)";
  }
  return "";
}

}  // namespace quern

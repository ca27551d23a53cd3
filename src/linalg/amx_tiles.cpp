// SPDX-License-Identifier: Apache-2.0
// The tile unit of Intel's processors from Sapphire Rapids on (AMX-BF16).
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, TDPBF16PS.
//
// The instructions are written out, because files compiled for any AVX-512 processor have them as
// well; whether they run is known at the start. They name registers and memory in ways that a
// compiler does not see: memory is fenced from the compiler at both ends of a function.
#include "base/amx.hpp"
#include "linalg/host/bf16_tiles.hpp"

namespace quern::host {

#if defined(__x86_64__) && defined(__linux__)

namespace {

/// Operand of LDTILECFG.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

/// All eight tiles full. A thread keeps its tiles: nobody else in the process uses them.
void configure_tiles() {
  thread_local bool is_configured = false;
  if (is_configured) return;
  static const TileConfiguration configuration;
  asm volatile("ldtilecfg %0" : : "m"(configuration));
  is_configured = true;
}

#define QUERN_TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile : :)
#define QUERN_TILE_LOAD(tile, from) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(from), "r"(std::int64_t{64}))
#define QUERN_TILE_STORE(tile, to) \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(to), "r"(std::int64_t{64}))
#define QUERN_TILE_MULTIPLY(c, a, b) \
  asm volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : :)

/// Sums in tiles 0 to 3, A in 4 and 5, B in 6 and 7.
template <int Rows, int Columns>
void multiply_block(const TileWalk& walk, const TileBlock& block, float* c) {
  asm volatile("" ::: "memory");
  float* const right = c + block.right();
  float* const below = c + block.down();
  if (block.add) {
    QUERN_TILE_LOAD(0, c);
    if constexpr (Columns > 1) QUERN_TILE_LOAD(1, right);
    if constexpr (Rows > 1) QUERN_TILE_LOAD(2, below);
    if constexpr (Rows * Columns > 3) QUERN_TILE_LOAD(3, c + 3 * kTileFloats);
  } else {
    QUERN_TILE_ZERO(0);
    if constexpr (Columns > 1) QUERN_TILE_ZERO(1);
    if constexpr (Rows > 1) QUERN_TILE_ZERO(2);
    if constexpr (Rows * Columns > 3) QUERN_TILE_ZERO(3);
  }
  const TileWalk w = walk;
  for (int outer = 0; outer < w.outer; ++outer) {
    const Bf16* a = w.a + outer * w.a_outer;
    const Bf16* b = w.b + outer * w.b_outer;
    for (int inner = 0; inner < w.inner; ++inner, a += w.a_inner, b += w.b_inner) {
      QUERN_TILE_LOAD(4, a);
      QUERN_TILE_LOAD(6, b);
      QUERN_TILE_MULTIPLY(0, 4, 6);
      if constexpr (Columns > 1) {
        QUERN_TILE_LOAD(7, b + w.b_column);
        QUERN_TILE_MULTIPLY(1, 4, 7);
      }
      if constexpr (Rows > 1) {
        QUERN_TILE_LOAD(5, a + w.a_row);
        QUERN_TILE_MULTIPLY(2, 5, 6);
      }
      if constexpr (Rows * Columns > 3) QUERN_TILE_MULTIPLY(3, 5, 7);
    }
  }
  QUERN_TILE_STORE(0, c);
  if constexpr (Columns > 1) QUERN_TILE_STORE(1, right);
  if constexpr (Rows > 1) QUERN_TILE_STORE(2, below);
  if constexpr (Rows * Columns > 3) QUERN_TILE_STORE(3, c + 3 * kTileFloats);
  asm volatile("" ::: "memory");
}

void multiply_on_amx(const TileWalk& walk, const TileBlock& block, float* c) {
  configure_tiles();
  if (block.rows > 1) {
    if (block.columns > 1)
      multiply_block<2, 2>(walk, block, c);
    else
      multiply_block<2, 1>(walk, block, c);
  } else if (block.columns > 1) {
    multiply_block<1, 2>(walk, block, c);
  } else {
    multiply_block<1, 1>(walk, block, c);
  }
}

}  // namespace

const TileUnit* amx_tile_unit() {
  static const TileUnit unit{"AMX", OperandPrecision::bf16, multiply_on_amx};
  return ask_for_amx() == Amx::granted ? &unit : nullptr;
}

#else

const TileUnit* amx_tile_unit() {
  return nullptr;
}

#endif

}  // namespace quern::host

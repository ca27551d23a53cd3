// SPDX-License-Identifier: Apache-2.0
// The instruction sets that Quern's programs are compiled for, and which of them a processor has.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace quern::cpu {

/// Among those of one architecture a later one has all instructions of the earlier.
enum class Level {
  x86_64,   ///< every 64-bit x86; no fused multiply-add, so other bits than the rest
  avx2,     ///< x86-64-v3: AVX2, FMA (Haswell, Zen and later)
  avx512,   ///< x86-64-v4: AVX-512 F, BW, CD, DQ, VL (Skylake servers, Zen 4 and later)
  neon,     ///< every 64-bit Arm
  generic,  ///< what the compiler takes for another architecture
};

/// "x86-64", "avx2", "avx512", "neon" or "generic".
std::string_view name_of(Level level);
std::optional<Level> level_named(std::string_view name);

/// The best level of this processor and its system.
Level machine_level();

/// The levels that a processor of level `machine` runs, worst first.
std::vector<Level> levels_up_to(Level machine);
bool runs_on(Level level, Level machine);

/// The level that the including file is compiled for.
constexpr Level compiled_level() {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return Level::avx512;
#elif defined(__AVX2__) && defined(__FMA__)
  return Level::avx2;
#elif defined(__x86_64__)
  return Level::x86_64;
#elif defined(__aarch64__)
  return Level::neon;
#else
  return Level::generic;
#endif
}

}  // namespace quern::cpu

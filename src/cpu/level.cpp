// SPDX-License-Identifier: Apache-2.0
#include "cpu/level.hpp"

#include <array>

namespace quern::cpu {

namespace {

constexpr std::array kNames = {std::string_view("x86-64"), std::string_view("avx2"),
                               std::string_view("avx512"), std::string_view("neon"),
                               std::string_view("generic")};

}  // namespace

std::string_view name_of(Level level) {
  return kNames[static_cast<std::size_t>(level)];
}

std::optional<Level> level_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Level>(i);
  }
  return std::nullopt;
}

Level machine_level() {
#if defined(__x86_64__)
  // These also ask whether the system saves the wide registers.
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (!has_avx2) return Level::x86_64;
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512cd") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has_avx512 ? Level::avx512 : Level::avx2;
#elif defined(__aarch64__)
  return Level::neon;
#else
  return Level::generic;
#endif
}

std::vector<Level> levels_up_to(Level machine) {
  switch (machine) {
    case Level::x86_64:
      return {Level::x86_64};
    case Level::avx2:
      return {Level::x86_64, Level::avx2};
    case Level::avx512:
      return {Level::x86_64, Level::avx2, Level::avx512};
    case Level::neon:
      return {Level::neon};
    case Level::generic:
      break;
  }
  return {Level::generic};
}

bool runs_on(Level level, Level machine) {
  for (const Level runnable : levels_up_to(machine)) {
    if (runnable == level) return true;
  }
  return false;
}

}  // namespace quern::cpu

// SPDX-License-Identifier: Apache-2.0
#include "cpu/choice.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/error.hpp"

namespace quern::cpu {

namespace {

bool is_none(const char* wish) {
  return !wish || !*wish;
}

bool is_amx(const char* wish) {
  return wish && std::string_view(wish) == kAmx;
}

/// The name of the level that a wish means.
std::string_view level_of(const char* wish) {
  return is_amx(wish) ? name_of(Level::avx512) : std::string_view(wish);
}

std::vector<Level> runnable(const std::vector<Level>& built, Level machine) {
  std::vector<Level> result;
  for (const Level level : levels_up_to(machine)) {
    if (std::find(built.begin(), built.end(), level) != built.end()) result.push_back(level);
  }
  return result;
}

std::string list(const std::vector<Level>& levels) {
  std::string text;
  for (const Level level : levels) {
    text += text.empty() ? "" : ", ";
    text += name_of(level);
  }
  return text;
}

/// "expected one of x86-64, avx2".
std::string expected(const std::vector<Level>& levels, Amx amx) {
  const bool has_amx = amx == Amx::granted && !levels.empty() && levels.back() == Level::avx512;
  return (levels.size() > 1 || has_amx ? "expected one of " : "expected ") + list(levels) +
         (has_amx ? std::string(", ") + kAmx : "");
}

}  // namespace

Level choose(const std::vector<Level>& built, Level machine, const char* wish) {
  const std::vector<Level> levels = runnable(built, machine);
  if (levels.empty()) return built.front();
  if (!is_none(wish)) {
    for (const Level level : levels) {
      if (name_of(level) == level_of(wish)) return level;
    }
  }
  return levels.back();
}

void check_wish(Level taken, const std::vector<Level>& built, Level machine,
                const std::function<Amx()>& ask, const char* wish) {
  if (is_none(wish) || (!is_amx(wish) && name_of(taken) == wish)) return;
  const Amx amx = ask();
  const std::vector<Level> levels = runnable(built, machine);
  const std::string place = std::string(kWishVariable) + "=" + wish;
  const std::string choice = " (" + expected(levels, amx) + ")";
  if (is_amx(wish) && amx == Amx::refused)
    throw InputError(place + ": the system does not let this process use it" + choice);
  const auto level = level_named(level_of(wish));
  const bool lacks_amx = is_amx(wish) && amx == Amx::none;
  if (lacks_amx || (level && !runs_on(*level, machine)))
    throw InputError(place + ": this processor does not run " + wish + choice);
  if (name_of(taken) == level_of(wish)) return;
  throw InputError(place + ": there are no such kernels in this installation" + choice);
}

bool wishes_amx(const char* wish) {
  return is_none(wish) || is_amx(wish);
}

std::string reason(Level taken, const std::vector<Level>& built, const char* wish) {
  const std::string name(name_of(taken));
  if (!is_none(wish)) return name + ": chosen by " + kWishVariable;
  if (built.size() < 2) return name + ": the only ones of this build";
  return name + ": the best of " + list(built) + " that this processor runs";
}

std::string tiles_reason(Amx amx, const char* wish) {
  if (amx == Amx::granted && wishes_amx(wish)) return "AMX";
  std::string why = amx == Amx::none ? "no AMX on this processor" : "the system refuses AMX";
  if (amx == Amx::granted) why = std::string(kWishVariable) + "=" + wish;
  return "vector registers (" + why + ")";
}

void require(Level compiled) {
  const Level machine = machine_level();
  if (runs_on(compiled, machine)) return;
  std::fprintf(stderr,
               "quern: error: this program was compiled for processors with %.*s, and this one has "
               "%.*s (expected a build for it: QUERN_ARCH, or QUERN_PORTABLE for several)\n",
               static_cast<int>(name_of(compiled).size()), name_of(compiled).data(),
               static_cast<int>(name_of(machine).size()), name_of(machine).data());
  std::fflush(stderr);
  _exit(static_cast<int>(ExitCode::bad_input));
}

}  // namespace quern::cpu

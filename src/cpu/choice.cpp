// SPDX-License-Identifier: Apache-2.0
#include "cpu/choice.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/error.hpp"

namespace quern::cpu {

namespace {

bool is_none(const char* wish) {
  return !wish || !*wish;
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

}  // namespace

Level choose(const std::vector<Level>& built, Level machine, const char* wish) {
  const std::vector<Level> levels = runnable(built, machine);
  if (levels.empty()) return built.front();
  if (!is_none(wish)) {
    for (const Level level : levels) {
      if (name_of(level) == wish) return level;
    }
  }
  return levels.back();
}

void check_wish(Level taken, const std::vector<Level>& built, Level machine, const char* wish) {
  if (is_none(wish) || name_of(taken) == wish) return;
  const std::vector<Level> levels = runnable(built, machine);
  const std::string place = std::string(kWishVariable) + "=" + wish;
  if (const auto level = level_named(wish); level && !runs_on(*level, machine)) {
    throw InputError(place + ": this processor does not run " + wish + " (expected one of " +
                     list(levels) + ")");
  }
  throw InputError(place + ": there are no such kernels in this installation (expected " +
                   (levels.size() > 1 ? "one of " : "") + list(levels) + ")");
}

std::string reason(Level taken, const std::vector<Level>& built, const char* wish) {
  const std::string name(name_of(taken));
  if (!is_none(wish)) return name + ": chosen by " + kWishVariable;
  if (built.size() < 2) return name + ": the only ones of this build";
  return name + ": the best of " + list(built) + " that this processor runs";
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

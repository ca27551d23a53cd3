// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_level.hpp"

#include <cstdlib>
#include <sstream>

#include "cpu/choice.hpp"

namespace quern {

namespace {

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

void check_kernel_wish() {
  cpu::check_wish(cpu::compiled_level(), built_levels(), cpu::machine_level(),
                  std::getenv(cpu::kWishVariable));
}

std::string kernel_level_text() {
  const std::string march = QUERN_ARCH;
  return cpu::reason(cpu::compiled_level(), built_levels(), std::getenv(cpu::kWishVariable)) +
         (march.empty() ? "" : " (-march=" + march + ")");
}

}  // namespace quern

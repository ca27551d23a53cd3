// SPDX-License-Identifier: Apache-2.0
// bin/quern of an installation for many processors: becomes the program that was compiled for the
// best instructions of this one. QUERN_CPU chooses another.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/exit_code.hpp"
#include "cpu/choice.hpp"

namespace {

namespace fs = std::filesystem;
using namespace quern;

int fail(const std::string& message) {
  std::fprintf(stderr, "quern: error: %s\n", message.c_str());
  return static_cast<int>(ExitCode::failure);
}

std::string program(const fs::path& folder, cpu::Level level) {
  return folder / ("quern-" + std::string(cpu::name_of(level)));
}

std::vector<cpu::Level> installed_in(const fs::path& folder) {
  std::vector<cpu::Level> levels;
  for (const cpu::Level level : {cpu::Level::x86_64, cpu::Level::avx2, cpu::Level::avx512,
                                 cpu::Level::neon, cpu::Level::generic}) {
    if (access(program(folder, level).c_str(), X_OK) == 0) levels.push_back(level);
  }
  return levels;
}

}  // namespace

int main(int, char** argv) {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return fail("cannot read /proc/self/exe: " + failed.message());
  const fs::path folder = (self.parent_path() / QUERN_BIN_TO_PROGRAMS).lexically_normal();
  const std::vector<cpu::Level> levels = installed_in(folder);
  if (levels.empty()) {
    return fail("no program in " + folder.string() + " (expected " +
                program(folder, cpu::machine_level()) + " or one for older processors)");
  }
  const std::string chosen =
      program(folder, cpu::choose(levels, cpu::machine_level(), std::getenv(cpu::kWishVariable)));
  execv(chosen.c_str(), argv);
  return fail("cannot start " + chosen + ": " + std::strerror(errno));
}

// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include <unistd.h>

#include <fstream>

#include "base/error.hpp"
#include "config/read_recipe.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

void write_file(const fs::path& path, const std::string& text) {
  const fs::path temporary = path.string() + ".tmp." + std::to_string(getpid());
  std::ofstream file(temporary, std::ios::trunc);
  file << text << std::flush;
  if (!file) throw InputError("cannot write '" + path.string() + "' (expected a writable folder)");
  file.close();
  fs::rename(temporary, path);
}

}  // namespace

std::string RunFolder::recipe_text() const {
  if (!fs::exists(recipe_file())) return "";
  return read_recipe_text(recipe_file());
}

void RunFolder::create(const std::string& recipe_text) const {
  try {
    fs::create_directories(checkpoints());
    fs::create_directories(folder_ / "log");
    fs::remove(done_file());  // of an earlier end: there are more epochs to train now
    write_file(recipe_file(), recipe_text);
  } catch (const fs::filesystem_error& error) {
    throw InputError("cannot write the run folder '" + folder_.string() +
                     "': " + error.code().message());
  }
}

void RunFolder::mark_done() const {
  write_file(done_file(), "");
}

}  // namespace quern

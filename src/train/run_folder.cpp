// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include <fstream>

#include "base/error.hpp"
#include "base/log.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "config/read_recipe.hpp"
#include "io/pending_file.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

void write_file(const fs::path& path, const std::string& text) {
  PendingFile pending(path);
  std::ofstream file(pending.temporary(), std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw InputError("cannot write '" + path.string() + "' (expected a writable folder)");
  pending.commit();
}

}  // namespace

std::string RunFolder::recipe_text() const {
  if (!fs::exists(recipe_file())) return "";
  return read_recipe_text(recipe_file());
}

FileLock RunFolder::lock(std::chrono::seconds patience) const {
  std::string holder;
  const auto tell = [&](const std::string& who) {
    holder = who;
    log::warn(who + " trains in '" + folder_.string() + "': waiting for it to end");
  };
  try {
    fs::create_directories(folder_);
    if (auto lock = FileLock::acquire(lock_file(), patience, tell)) return std::move(*lock);
  } catch (const fs::filesystem_error& error) {
    throw InputError("cannot make the run folder '" + folder_.string() +
                     "': " + error.code().message());
  } catch (const Error& error) {
    throw InputError("cannot write the run folder '" + folder_.string() + "': " + error.what());
  }
  throw InputError("'" + folder_.string() + "' is in use: " + holder +
                   " trains in it (take another --run-dir, or remove '" + lock_file().string() +
                   "' if it belongs to a node that is dead)");
}

std::string RunFolder::state() const {
  const std::vector<CheckpointFile> checkpoints = list_checkpoints(this->checkpoints());
  const std::string newest = checkpoints.empty() ? "" : checkpoints.back().path.string();
  return newest + "\n" + recipe_text();
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

void RunFolder::mark_done(const std::string& model_hash) const {
  write_file(done_file(), model_hash + "\n");
}

}  // namespace quern

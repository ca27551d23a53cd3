// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "config/read_recipe.hpp"
#include "io/folder_files.hpp"
#include "io/pending_file.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

constexpr int kAttempts = 20;
constexpr std::chrono::seconds kTurns{10};

void write_file(const fs::path& path, const std::string& text, const std::function<void()>& check) {
  PendingFile pending(path);
  errno = 0;
  std::ofstream file(pending.temporary(), std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw_write_failure("cannot write '" + path.string() + "'", errno);
  pending.commit(check);
}

}  // namespace

std::string RunFolder::recipe_text() const {
  if (!fs::exists(recipe_file())) return "";
  return read_recipe_text(recipe_file());
}

std::string RunFolder::state() const {
  const std::vector<CheckpointFile> checkpoints = list_checkpoints(this->checkpoints());
  const std::string newest = checkpoints.empty() ? "" : checkpoints.back().path.string();
  return newest + "\n" + recipe_text();
}

void RunFolder::create(const std::string& recipe_text, const std::function<void()>& check) const {
  try {
    if (check) check();  // before a folder that is gone would be made anew
    NewFolders folders;
    // In what another process has taken over its folders stay, whoever has made them.
    const auto check_or_keep = [&] {
      try {
        if (check) check();
      } catch (...) {
        folders.keep();
        throw;
      }
    };
    folders.make(checkpoints());
    folders.make(folder_ / "log");
    // Its own mode, or a link to elsewhere: not to be found out by the first checkpoint.
    if (access(checkpoints().c_str(), W_OK | X_OK) != 0)
      throw_write_failure("cannot write checkpoints into '" + checkpoints().string() + "'", errno);
    check_or_keep();
    remove_stale_files(folder_, [this](const std::string& name) {
      const fs::path file = folder_ / name;
      return file == recipe_file() || file == metrics_file() || file == done_file();
    });
    fs::remove(done_file());  // of an earlier end: there are more epochs to train now
    write_file(recipe_file(), recipe_text, check_or_keep);
    folders.keep();
  } catch (const fs::filesystem_error& error) {
    throw_write_failure("cannot write the run folder '" + folder_.string() + "'",
                        error.code().value());
  }
}

void RunFolder::mark_done(const std::string& model_hash, const std::function<void()>& check) const {
  try {
    write_file(done_file(), model_hash + "\n", check);
  } catch (const InputError& error) {
    throw Error(error.what());  // after a training: what the user gave was good
  }
}

RunLock::RunLock(const RunFolder& folder, std::chrono::seconds patience) : folder_(folder) {
  const std::string name = "'" + folder_.path().string() + "'";
  std::string holder;
  const auto tell = [&](const std::string& who) {
    holder = who;
    log::warn(who + " trains in " + name + ": waiting for it to end");
  };
  // A run that is refused may remove its new folder while this one waits, or is about to lock.
  // Where many begin and end at once that can happen often: each gives the others time for a turn.
  const auto begin = std::chrono::steady_clock::now();
  int attempt = 1;
  const auto may_try_again = [&](bool folder_went) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(attempt, kAttempts)));
    return attempt < kAttempts ||
           (folder_went && std::chrono::steady_clock::now() - begin < kTurns);
  };
  for (; !lock_; ++attempt) {
    try {
      new_folders_.make(folder_.path());
      lock_ = FileLock::acquire(folder_.lock_file(), patience, tell);
      if (!lock_) break;
    } catch (const fs::filesystem_error& error) {
      if (may_try_again(error.code() == std::errc::no_such_file_or_directory)) continue;
      throw_write_failure("cannot make the run folder " + name, error.code().value());
    } catch (const Error& error) {
      std::error_code unknown;
      if (may_try_again(!fs::exists(folder_.path(), unknown) && !unknown)) continue;
      const std::string text = "cannot write the run folder " + name + ": " + error.what();
      if (dynamic_cast<const InputError*>(&error)) throw InputError(text);
      throw Error(text);  // a disk or a file server: the next start may work
    }
  }
  if (lock_) return;
  throw InputError(name + " is in use: " + holder +
                   " trains in it (take another --run-dir, or remove '" +
                   folder_.lock_file().string() + "' if it belongs to a node that is dead)");
}

void RunLock::check() const {
  const std::string holder = lock_->new_holder();
  std::error_code unknown;
  if (holder.empty() && !fs::exists(folder_.path(), unknown) && !unknown) {
    throw Error("the run folder '" + folder_.path().string() +
                "' is no longer there, expected it to stay in its place until the training ends: "
                "this process writes no more");
  }
  if (holder.empty()) return;
  throw Error("'" + folder_.path().string() + "' was taken over by " + holder +
              ": this process writes no more into it");
}

void RunLock::run_checked(const std::function<void()>& write) const {
  try {
    write();
  } catch (const UnusableError&) {
    throw;  // of the weights
  } catch (const std::exception&) {
    check();
    throw;
  }
}

RunLock::~RunLock() {
  std::error_code unreadable;
  if (fs::exists(folder_.recipe_file(), unreadable) || unreadable) {
    new_folders_.keep();
  } else {
    lock_->remove_new_file();
  }
}

}  // namespace quern

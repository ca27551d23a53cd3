// SPDX-License-Identifier: Apache-2.0
// The folder of one run: recipe.toml, metrics.jsonl, events.jsonl, checkpoints/, log/, DONE, STOP.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "io/file_lock.hpp"
#include "io/new_folders.hpp"

namespace quern {

class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path recipe_file() const { return folder_ / "recipe.toml"; }
  std::filesystem::path metrics_file() const { return folder_ / "metrics.jsonl"; }
  std::filesystem::path events_file() const { return folder_ / "events.jsonl"; }
  std::filesystem::path checkpoints() const { return folder_ / "checkpoints"; }
  std::filesystem::path done_file() const { return folder_ / "DONE"; }
  std::filesystem::path stop_file() const { return folder_ / "STOP"; }
  std::filesystem::path lock_file() const { return folder_ / ".lock"; }

  /// The text of recipe.toml, "" when there is none yet. InputError when it cannot be read.
  std::string recipe_text() const;

  /// Another text as soon as a training has gone on here: its newest checkpoint, its recipe.
  std::string state() const;

  /// Makes checkpoints/ and log/ inside, removes DONE and what killed processes have left half
  /// written, and replaces recipe.toml, with `check` just before each. InputError when it cannot be
  /// written; then it is as before, but for DONE.
  void create(const std::string& recipe_text, const std::function<void()>& check = {}) const;
  /// Writes DONE, with the model's hash in it; `check` just before. Throws Error when it cannot.
  void mark_done(const std::string& model_hash, const std::function<void()>& check = {}) const;

 private:
  std::filesystem::path folder_;
};

/// The right to write into a run folder, until this object ends: two trainings of one folder would
/// take each other's files for their own. If there is no recipe.toml then, the run was refused, and
/// what this object made is removed again. Of several that are refused at the same moment, an empty
/// folder may stay.
class RunLock {
 public:
  static constexpr std::chrono::seconds kPatience{120};

  /// Makes the folder. Waits for another process that has it (which may be about to end, or belong
  /// to a dead node) and prints so; InputError when that one stays, or when the folder does not let
  /// anybody write, Error where a disk or a file server fails.
  explicit RunLock(const RunFolder& folder, std::chrono::seconds patience = kPatience);
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  ~RunLock();

  /// Error when another process has taken the folder over: a later start of the same Slurm job, or
  /// a training that began after somebody had removed the lock's file. Error, too, when the folder
  /// was renamed or removed.
  void check() const;

  /// Runs `write`. Where it fails because of what check() would say, that is the error: it was
  /// found missing in the middle of a file.
  void run_checked(const std::function<void()>& write) const;

 private:
  const RunFolder folder_;
  NewFolders new_folders_;  // goes after the lock, whose file is in them
  std::optional<FileLock> lock_;
};

}  // namespace quern

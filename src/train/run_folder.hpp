// SPDX-License-Identifier: Apache-2.0
// The folder of one run: recipe.toml, metrics.jsonl, checkpoints/, log/, DONE, STOP.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "io/file_lock.hpp"

namespace quern {

class RunFolder {
 public:
  static constexpr std::chrono::seconds kPatience{120};

  explicit RunFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path recipe_file() const { return folder_ / "recipe.toml"; }
  std::filesystem::path metrics_file() const { return folder_ / "metrics.jsonl"; }
  std::filesystem::path checkpoints() const { return folder_ / "checkpoints"; }
  std::filesystem::path done_file() const { return folder_ / "DONE"; }
  std::filesystem::path stop_file() const { return folder_ / "STOP"; }
  std::filesystem::path lock_file() const { return folder_ / ".lock"; }

  /// The text of recipe.toml, "" when there is none yet. InputError when it cannot be read.
  std::string recipe_text() const;

  /// The right to write here: two trainings of one folder would take each other's files for their
  /// own. Makes the folder. Waits for another process that has it (which may be about to end, or
  /// belong to a dead node) and prints so; InputError when that one stays, or when the folder
  /// cannot be written.
  FileLock lock(std::chrono::seconds patience = kPatience) const;

  /// Another text as soon as a training has gone on here: its newest checkpoint, its recipe.
  std::string state() const;

  /// Makes checkpoints/ and log/ inside, replaces recipe.toml and removes DONE. InputError when it
  /// cannot be written.
  void create(const std::string& recipe_text) const;
  /// Writes DONE, with the model's hash in it. Throws Error when it cannot.
  void mark_done(const std::string& model_hash) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// The folder of one run: recipe.toml, metrics.jsonl, checkpoints/, log/, DONE, STOP.
#pragma once

#include <filesystem>
#include <string>

namespace quern {

class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path recipe_file() const { return folder_ / "recipe.toml"; }
  std::filesystem::path metrics_file() const { return folder_ / "metrics.jsonl"; }
  std::filesystem::path checkpoints() const { return folder_ / "checkpoints"; }
  std::filesystem::path done_file() const { return folder_ / "DONE"; }
  std::filesystem::path stop_file() const { return folder_ / "STOP"; }

  /// The text of recipe.toml, "" when there is none yet. InputError when it cannot be read.
  std::string recipe_text() const;

  /// Makes the folder and checkpoints/ and log/ inside (several processes may do so at once),
  /// replaces recipe.toml and removes DONE. InputError when it cannot be written.
  void create(const std::string& recipe_text) const;
  /// Writes DONE. Throws Error when it cannot.
  void mark_done() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace quern

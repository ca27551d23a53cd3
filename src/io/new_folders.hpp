// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

namespace quern {

/// Folders that are removed with this object, unless keep() was called: those that make() made, and
/// of these only the empty ones.
class NewFolders {
 public:
  NewFolders() = default;
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  ~NewFolders();

  /// Makes the folder and those above it, where they are missing. Throws filesystem_error.
  void make(const std::filesystem::path& folder);
  void keep() { made_.clear(); }

 private:
  std::vector<std::filesystem::path> made_;  // the innermost ones last
};

}  // namespace quern

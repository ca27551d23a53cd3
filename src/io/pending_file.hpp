// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace quern {

/// A file that appears under its name only when it is complete: write to temporary(), which is in
/// the same folder and names this machine and process, then commit(). Without commit() the
/// temporary file is removed.
class PendingFile {
 public:
  explicit PendingFile(std::filesystem::path path);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& temporary() const { return temporary_; }

  /// Syncs the temporary file, gives it its name (replacing a file of that name in one step), and
  /// syncs the folder. Throws Error; the temporary file is removed then. So it is where `check`
  /// throws, which is called just before the renaming: to sync may take long.
  void commit(const std::function<void()>& check = {});

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty when there is nothing to remove
};

/// The file that a link leads to, which need not be there yet; another path as it is. A file that
/// takes its name replaces no link then.
std::filesystem::path file_behind(const std::filesystem::path& path);

/// Throws "WHAT: what the system says": InputError where a folder does not let anybody write, Error
/// otherwise (a disk that is full or fails: the next start may work). `error` is a value of errno.
[[noreturn]] void throw_write_failure(const std::string& what, int error);

/// fsync of a file or a folder. Throws Error naming it.
void sync_path(const std::filesystem::path& path);

}  // namespace quern

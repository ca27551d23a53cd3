// SPDX-License-Identifier: Apache-2.0
// Files of `quern bench io`: a folder for them, and files as the system gives them, which the
// formats are measured against.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace quern {

/// A folder that exists only as long as this object: ".quern-bench-<pid>" inside `parent`. While it
/// lives, Ctrl-C and SIGTERM do not end the process at once, so that the folder is removed then,
/// too.
class ScratchFolder {
 public:
  /// InputError when `parent` is no folder, or nothing can be written there.
  explicit ScratchFolder(const std::filesystem::path& parent);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Throws Error when one of the signals came: to be called now and then.
  void stop_if_interrupted() const;

 private:
  using Handler = void (*)(int);

  std::filesystem::path path_;
  Handler before_interrupt_;
  Handler before_terminate_;
};

/// As a checkpoint appears: write under a temporary name, fsync, rename, fsync of the folder.
/// Throws Error.
void write_raw_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Overwrites `bytes` with the whole file; its memory is used again when it is large enough.
/// Throws Error.
void read_raw_file(const std::filesystem::path& path, std::vector<std::byte>& bytes);

/// Asks the system to drop its copy of the file, so that the next reader waits for the disk. It may
/// keep what is new and not on the disk yet. Throws Error when there is no such file.
void drop_cached_file(const std::filesystem::path& path);

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

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

}  // namespace quern

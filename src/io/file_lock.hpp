// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace quern {

/// An exclusive lock that processes on all nodes see, where the file system has locks. The kernel
/// frees it when this object or its process is gone, however it ended; of a dead node the file
/// server does, after its lease.
class FileLock {
 public:
  /// Makes the file when it is absent, and writes into it who holds it, until it is freed. Waits at
  /// most `patience` for another holder; calls `on_wait` once, with what that one wrote, if it has
  /// to wait at all. Nothing when the other one still holds it then. From an earlier start of the
  /// same Slurm job it is taken after two seconds: Slurm has ended that one, but the lock of a dead
  /// node may last on an old NFS. On file systems without locks it is granted without being one.
  /// InputError where the file's folder does not let anybody open it, Error where a disk or a file
  /// server fails.
  static std::optional<FileLock> acquire(
      const std::filesystem::path& path, std::chrono::milliseconds patience,
      const std::function<void(const std::string& holder)>& on_wait);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  /// Who holds the lock in place of this object, because the file was removed and made again; ""
  /// where nobody does.
  std::string new_holder() const;

  /// Removes the file, if acquire() has made it and nobody another one since. Whoever waits for the
  /// lock then makes another.
  void remove_new_file();

 private:
  explicit FileLock(const std::filesystem::path& path);

  /// What is found under the name.
  struct FileThere {
    bool is_ours = false;      // the file that was locked
    std::string other_holder;  // of another one
  };
  FileThere file_there() const;

  std::filesystem::path path_;
  bool is_new_file_ = true;
  int descriptor_ = -1;
  bool is_held_ = false;
};

/// "process 4711 on node12, Slurm job 99, start 1"
std::string this_process();

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// For one file of a test program: its fsync(), in place of the C library's, notes what is synced
// when. What was never synced may be gone after a machine has lost power, which no test sees.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace quern::test {

/// Collects the paths that are synced while it lives, in order.
class SyncCalls {
 public:
  SyncCalls() { current = this; }
  SyncCalls(const SyncCalls&) = delete;
  SyncCalls& operator=(const SyncCalls&) = delete;
  ~SyncCalls() { current = nullptr; }

  const std::vector<std::filesystem::path>& paths() const { return paths_; }
  /// Called before each of them; errno where it is to fail, else 0.
  std::function<int(const std::filesystem::path&)> before = [](const auto&) { return 0; };

  int sync(int descriptor) {
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    paths_.push_back(std::filesystem::read_symlink(link));
    errno = before(paths_.back());
    return errno != 0 ? -1 : static_cast<int>(syscall(SYS_fsync, descriptor));
  }

  static inline SyncCalls* current = nullptr;

 private:
  std::vector<std::filesystem::path> paths_;
};

}  // namespace quern::test

extern "C" int fsync(int descriptor) {
  quern::test::SyncCalls* const calls = quern::test::SyncCalls::current;
  return calls ? calls->sync(descriptor) : static_cast<int>(syscall(SYS_fsync, descriptor));
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <stdexcept>

namespace quern::test {

/// While it lives, this process can open nothing ("Too many open files"): a failure of the system
/// that anybody may cause.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    if (getrlimit(RLIMIT_NOFILE, &old_) != 0) throw std::runtime_error("no limit of files");
    rlimit none = old_;
    none.rlim_cur = 0;
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) throw std::runtime_error("cannot limit files");
  }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &old_); }

 private:
  rlimit old_{};
};

}  // namespace quern::test

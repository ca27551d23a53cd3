// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <stdexcept>

namespace quern::test {

/// The undefined behaviour sanitizer opens a pipe to look at an object of a class with virtual
/// functions, and takes the object for a bad one if it cannot: a file stream is enough.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitizerOpensFiles = true;
#else
inline constexpr bool kSanitizerOpensFiles = false;
#endif

/// `action`, which can open nothing while it runs ("Too many open files"): a failure of the system
/// that anybody may cause.
template <class Action>
auto without_files(Action action) {
  return [=] {
    struct Limit {
      Limit() {
        if (getrlimit(RLIMIT_NOFILE, &old) != 0) throw std::runtime_error("no limit of files");
        rlimit none = old;
        none.rlim_cur = 0;
        if (setrlimit(RLIMIT_NOFILE, &none) != 0) throw std::runtime_error("cannot limit files");
      }
      Limit(const Limit&) = delete;
      Limit& operator=(const Limit&) = delete;
      ~Limit() { setrlimit(RLIMIT_NOFILE, &old); }

      rlimit old{};
    };
    const Limit limit;
    action();
  };
}

}  // namespace quern::test

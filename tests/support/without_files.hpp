// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <stdexcept>

namespace quern::test {

/// `action`, which can open nothing while it runs ("Too many open files"): a failure of the system
/// that anybody may cause. The limit ends with the action, because the undefined behaviour
/// sanitizer may open a pipe when somebody looks at the error that was thrown.
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

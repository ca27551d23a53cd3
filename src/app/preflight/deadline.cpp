// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/deadline.hpp"

#include <cstdlib>
#include <string>

#include "base/exit_code.hpp"
#include "base/log.hpp"

namespace quern {

Deadline::Deadline(int seconds, bool speaks)
    : thread_([this, seconds, speaks] { watch(seconds, speaks); }) {}

Deadline::~Deadline() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Deadline::enter(const char* stage) {
  const std::lock_guard lock(mutex_);
  stage_ = stage;
  begin_ = std::chrono::steady_clock::now();
}

void Deadline::watch(int seconds, bool speaks) {
  std::unique_lock lock(mutex_);
  // Rank 0 first, so that its message is not cut off by a launcher that ends everybody.
  const auto time = std::chrono::seconds(speaks ? seconds : seconds + 1);
  // Woken by the time that was, it finds a stage that began since.
  while (std::chrono::steady_clock::now() < begin_ + time) {
    if (changed_.wait_until(lock, begin_ + time, [this] { return over_; })) return;
  }
  if (speaks) {
    log::error("no answer from all ranks within " + std::to_string(seconds) + " s during " +
               std::string(stage_) + " (--timeout): a node, its network or its file system hangs");
  }
  std::_Exit(static_cast<int>(ExitCode::failure));
}

}  // namespace quern

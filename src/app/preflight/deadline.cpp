// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/deadline.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/exit_code.hpp"
#include "base/log.hpp"

namespace quern {

Deadline::Deadline(std::chrono::seconds time, std::chrono::seconds grace, bool speaks)
    : usual_(time), time_(time), thread_([this, grace, speaks] { watch(grace, speaks); }) {}

Deadline::~Deadline() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Deadline::enter(const char* stage, std::chrono::seconds at_least) {
  const std::lock_guard lock(mutex_);
  stage_ = stage;
  time_ = std::max(usual_, at_least);
  begin_ = Clock::now();
}

std::chrono::milliseconds Deadline::left() const {
  const std::lock_guard lock(mutex_);
  const auto left = begin_ + time_ - Clock::now();
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left),
                  std::chrono::milliseconds(0));
}

std::string Deadline::text() const {
  const std::lock_guard lock(mutex_);
  return text_of_stage();
}

std::string Deadline::text_of_stage() const {
  return "within " + std::to_string(time_.count()) + " s during " + std::string(stage_);
}

void Deadline::watch(std::chrono::seconds grace, bool speaks) {
  std::unique_lock lock(mutex_);
  // Rank 0 first, so that its message is not cut off by a launcher that ends everybody.
  const auto more = speaks ? grace : grace + std::chrono::seconds(1);
  // Woken by the time that was, it finds a stage that began since.
  while (Clock::now() < begin_ + time_ + more) {
    if (changed_.wait_until(lock, begin_ + time_ + more, [this] { return over_; })) return;
  }
  if (speaks) {
    log::error("no answer from all ranks " + text_of_stage() +
               " (--timeout): a node, its network or its file system hangs");
  }
  std::_Exit(static_cast<int>(ExitCode::failure));
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "dataset/prefetch.hpp"

namespace quern {

void Prefetch::start(std::int64_t first, std::int64_t end) {
  stop();
  entered_ = first;
  loaded_ = first;
  stops_ = false;
  error_ = nullptr;
  thread_ = std::thread([this, first, end] { run(first, end); });
}

void Prefetch::enter(std::int64_t window) {
  const std::lock_guard lock(mutex_);
  if (window == entered_) return;
  entered_ = window;
  changed_.notify_all();
}

bool Prefetch::wait_for(std::int64_t window) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return loaded_ > window || error_; });
  return loaded_ > window;
}

bool Prefetch::has_failed() {
  const std::lock_guard lock(mutex_);
  return error_ != nullptr;
}

bool Prefetch::is_stopping() {
  const std::lock_guard lock(mutex_);
  return stops_;
}

void Prefetch::rethrow() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

void Prefetch::run(std::int64_t first, std::int64_t end) {
  for (std::int64_t window = first; window < end; ++window) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stops_ || window <= entered_ + 1; });
      if (stops_) return;
    }
    std::exception_ptr error;
    try {
      load_(window);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (stops_) return;
    error_ = error;
    if (!error) loaded_ = window + 1;
    changed_.notify_all();
    if (error) return;
  }
}

void Prefetch::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

}  // namespace quern

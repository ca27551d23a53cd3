// SPDX-License-Identifier: Apache-2.0
// A thread that is one window ahead.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

namespace quern {

/// Two buffers, which windows take in turn: while window w is used, w + 1 is loaded where w - 1
/// was. One thread loads, one uses.
class Prefetch {
 public:
  /// `load`: called on the loading thread, for window after window; what it throws ends the
  /// loading. It must be callable until the object is gone.
  explicit Prefetch(std::function<void(std::int64_t window)> load) : load_(std::move(load)) {}
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;
  ~Prefetch() { stop(); }

  /// Loads the windows [first, end), and waits for none. What was loaded before is lost.
  void start(std::int64_t first, std::int64_t end);

  /// From now on the windows before this one are not used. Nothing is allocated.
  void enter(std::int64_t window);

  /// Until the window is loaded, or will never be. -> is it?
  bool wait_for(std::int64_t window);

  /// Has loading failed?
  bool has_failed();

  /// Will what `load` loads be used by nobody? Then it may return at once.
  bool is_stopping();

  /// Throws what `load` has thrown, if it has.
  void rethrow();

 private:
  void run(std::int64_t first, std::int64_t end);
  void stop();

  std::function<void(std::int64_t)> load_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t entered_ = 0;
  std::int64_t loaded_ = 0;  // the windows before this one are
  bool stops_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace quern

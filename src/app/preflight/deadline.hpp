// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace quern {

/// Ends the process (exit status 1, rank 0 says during what) when it is not destroyed in time: a
/// collective call that other ranks never enter has no other end.
class Deadline {
 public:
  Deadline(int seconds, bool speaks);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  Deadline(Deadline&&) = delete;
  Deadline& operator=(Deadline&&) = delete;

  /// What happens now, a string literal.
  void enter(const char* stage) { stage_ = stage; }

 private:
  void watch(int seconds, bool speaks);

  std::atomic<const char*> stage_{"the start"};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace quern {

/// Ends the process (exit status 1, rank 0 says during what) when a stage takes too long: a
/// collective call that other ranks never enter has no other end.
class Deadline {
 public:
  /// `seconds`: for each stage.
  Deadline(int seconds, bool speaks);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  Deadline(Deadline&&) = delete;
  Deadline& operator=(Deadline&&) = delete;

  /// What happens now, a string literal. Its time begins.
  void enter(const char* stage);

 private:
  void watch(int seconds, bool speaks);

  std::mutex mutex_;
  std::condition_variable changed_;
  const char* stage_ = "the start";
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool over_ = false;
  std::thread thread_;
};

}  // namespace quern

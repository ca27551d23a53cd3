// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace quern {

/// Ends the process (exit status 1, rank 0 says during what) when a stage takes too long: a
/// collective call that other ranks never enter has no other end.
class Deadline {
 public:
  /// `time`: for each stage. `grace`: beyond it, for others to say who is late (punctual.hpp).
  Deadline(std::chrono::seconds time, std::chrono::seconds grace, bool speaks);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  Deadline(Deadline&&) = delete;
  Deadline& operator=(Deadline&&) = delete;

  /// What happens now, a string literal. Its time begins: that of each stage, or at least so much.
  void enter(const char* stage, std::chrono::seconds at_least = {});

  /// Of the time of this stage, without the grace.
  std::chrono::milliseconds left() const;
  /// "within 60 s during the all-reduce"
  std::string text() const;

 private:
  using Clock = std::chrono::steady_clock;

  void watch(std::chrono::seconds grace, bool speaks);
  std::string text_of_stage() const;

  const std::chrono::seconds usual_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  const char* stage_ = "the start";
  std::chrono::seconds time_;
  Clock::time_point begin_ = Clock::now();
  bool over_ = false;
  std::thread thread_;
};

}  // namespace quern

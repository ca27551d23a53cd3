// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace quern {

/// A barrier of the processes that share a piece of memory: loads and stores, no messages, well
/// below a microsecond when everybody is running. Who waits longer polls for some microseconds and
/// then sleeps (a futex, on Linux), so that its core is free for others: for the process that it
/// waits for, where a neighbour has taken the core of that one. What a process wrote before wait(),
/// all see after it.
class NodeBarrier {
 public:
  /// What is shared; zero at the start.
  struct State {
    alignas(64) std::uint32_t arrived;
    std::uint32_t sleepers;  ///< in the line that the last one to arrive has just written
    alignas(64) std::uint32_t phase;
  };

  /// `state` outlives the barrier; `num_ranks` processes call wait().
  NodeBarrier(State& state, int num_ranks)
      : state_(state), num_ranks_(static_cast<std::uint32_t>(num_ranks)) {}

  /// Returns when all processes have called it. After the polling it calls `idle` again and again,
  /// which says whether this process may sleep now: then it does until the last one comes, for a
  /// millisecond at most. Where the answer is no, `idle` gives the core away itself.
  template <class Idle>
  void wait(const Idle& idle) {
    const std::uint32_t phase = word(state_.phase).load(std::memory_order_relaxed);
    if (word(state_.arrived).fetch_add(1, std::memory_order_acq_rel) + 1 == num_ranks_) {
      word(state_.arrived).store(0, std::memory_order_relaxed);
      begin(phase + 1);
      return;
    }
    if (poll(phase)) return;
    while (is_in(phase)) {
      if (idle()) sleep(phase);
    }
  }

 private:
  using Word = std::atomic_ref<std::uint32_t>;
  static_assert(Word::is_always_lock_free, "a lock would not be shared between processes");
  // A sleeping core takes tens of microseconds to wake in a virtual machine.
  static constexpr std::chrono::microseconds kMostPolling{100};
  static constexpr std::chrono::microseconds kLeastPolling{3};

  static Word word(std::uint32_t& place) { return Word(place); }
  bool is_in(std::uint32_t phase) const {
    return word(state_.phase).load(std::memory_order_acquire) == phase;
  }

  void begin(std::uint32_t phase);
  bool poll(std::uint32_t phase);
  void sleep(std::uint32_t phase);

  State& state_;
  std::uint32_t num_ranks_;
  std::chrono::nanoseconds polling_ = kMostPolling;  ///< how long the next wait polls
};

}  // namespace quern

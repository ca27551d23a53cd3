// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace quern {

/// A barrier of the processes that share a piece of memory: loads and stores, no messages, well
/// below a microsecond when everybody is running. What a process wrote before wait(), all see after
/// it.
class NodeBarrier {
 public:
  /// What is shared; zero at the start. Each word has a cache line of its own.
  struct State {
    alignas(64) std::uint32_t arrived;
    alignas(64) std::uint32_t phase;
  };

  /// `state` outlives the barrier; `num_ranks` processes call wait().
  NodeBarrier(State& state, int num_ranks)
      : state_(state), num_ranks_(static_cast<std::uint32_t>(num_ranks)) {}

  /// Returns when all processes have called it. Polls for some microseconds and then calls `idle`
  /// between two looks, which should give the core away: the processes may be more than the cores.
  template <class Idle>
  void wait(const Idle& idle) {
    const std::uint32_t phase = word(state_.phase).load(std::memory_order_relaxed);
    if (word(state_.arrived).fetch_add(1, std::memory_order_acq_rel) + 1 == num_ranks_) {
      word(state_.arrived).store(0, std::memory_order_relaxed);
      word(state_.phase).store(phase + 1, std::memory_order_release);
      return;
    }
    for (int look = 0; has_phase(phase); ++look) {
      if (look < kBusyLooks) {
        relax();
      } else {
        idle();
      }
    }
  }

 private:
  using Word = std::atomic_ref<std::uint32_t>;
  static_assert(Word::is_always_lock_free, "a lock would not be shared between processes");
  static constexpr int kBusyLooks = 2000;

  static Word word(std::uint32_t& place) { return Word(place); }
  bool has_phase(std::uint32_t phase) const {
    return word(state_.phase).load(std::memory_order_acquire) == phase;
  }

  // Tells the core that this is a loop of waiting.
  static void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  State& state_;
  std::uint32_t num_ranks_;
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "comm/node_barrier.hpp"

#include <algorithm>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#else
#include <thread>
#endif

namespace quern {

namespace {

// Tells the core that this is a loop of waiting.
void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

#if defined(__linux__)

// Shared between processes: without FUTEX_PRIVATE_FLAG.
void wake_sleepers(std::uint32_t& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Returns at once unless the word has this value. A signal ends it, too.
void sleep_while(std::uint32_t& word, std::uint32_t value) {
  const timespec limit{0, 1'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

#else

void wake_sleepers(std::uint32_t&) {}

void sleep_while(std::uint32_t&, std::uint32_t) {
  std::this_thread::yield();
}

#endif

}  // namespace

// Either this sees the sleeper, or the sleeper's system call sees the new phase: both write first
// and read then, in one order for all.
void NodeBarrier::begin(std::uint32_t phase) {
  word(state_.phase).store(phase, std::memory_order_seq_cst);
  if (word(state_.sleepers).load(std::memory_order_seq_cst) > 0) wake_sleepers(state_.phase);
}

void NodeBarrier::sleep(std::uint32_t phase) {
  word(state_.sleepers).fetch_add(1, std::memory_order_seq_cst);
  sleep_while(state_.phase, phase);
  word(state_.sleepers).fetch_sub(1, std::memory_order_seq_cst);
}

// Has the next phase begun before the time was over? Polling that was in vain is half as long the
// next time: where processes are more than cores, those that poll keep the others from running.
bool NodeBarrier::poll(std::uint32_t phase) {
  constexpr int kLooks = 32;  // between two readings of the clock
  const auto end = std::chrono::steady_clock::now() + polling_;
  do {
    for (int look = 0; look < kLooks; ++look) {
      if (!is_in(phase)) {
        polling_ = std::min<std::chrono::nanoseconds>(2 * polling_, kMostPolling);
        return true;
      }
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  polling_ = std::max<std::chrono::nanoseconds>(polling_ / 2, kLeastPolling);
  return false;
}

}  // namespace quern

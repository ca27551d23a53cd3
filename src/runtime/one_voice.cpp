// SPDX-License-Identifier: Apache-2.0
#include "runtime/one_voice.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/log.hpp"
#include "comm/exchange.hpp"
#include "comm/node_shared.hpp"

namespace quern {

namespace {

// Different errors that a board remembers; what comes after them is said by each rank.
constexpr std::size_t kReasons = 64;
constexpr std::chrono::seconds kForTheOthers{1};

// Has nobody of the node said it before?
bool is_first(std::span<std::uint64_t> board, const std::string& reason) {
  const std::uint64_t mine = std::hash<std::string>{}(reason) | 1U;  // 0 is an empty place
  for (std::uint64_t& place : board) {
    std::uint64_t there = 0;
    if (std::atomic_ref(place).compare_exchange_strong(there, mine)) return true;
    if (there == mine) return false;
  }
  return true;
}

}  // namespace

OneVoice::OneVoice(Communicator& comm) {
  // A nicety must not be what a run fails of.
  constexpr std::int64_t kRoom = 1 << 20;
  if (!is_so_everywhere(comm, free_shared_memory_bytes() >= kRoom) || comm.node_size() == 1) return;
  shared_ = comm.allocate_node_shared(kReasons * sizeof(std::uint64_t));
}

std::span<std::uint64_t> OneVoice::board() const {
  return {reinterpret_cast<std::uint64_t*>(shared_->bytes().data()), kReasons};
}

void OneVoice::say(const std::string& message, const std::string& reason) {
  if (!shared_ || is_first(board(), reason)) log::error(message);
  if (shared_) std::this_thread::sleep_for(kForTheOthers);
}

}  // namespace quern

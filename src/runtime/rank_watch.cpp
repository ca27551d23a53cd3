// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <utility>

#include "base/exit_code.hpp"
#include "base/log.hpp"

namespace quern {

/// What a rank tells the others of its node.
struct RankWatch::Card {
  std::int64_t process;
  std::uint64_t process_namespace;  // the others know the process by this number only in theirs
  std::int32_t rank;
  std::uint32_t has_left;
};

/// In front of the cards.
struct RankWatch::Board {
  alignas(64) std::uint32_t is_reported;
};

namespace {

std::uint64_t process_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
}

// glibc has a function for it since 2.36; -1 and errno = ENOSYS before Linux 5.3.
int open_process(std::int64_t process) {
#ifdef SYS_pidfd_open
  return static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0));
#else
  static_cast<void>(process);
  errno = ENOSYS;
  return -1;
#endif
}

}  // namespace

RankWatch::RankWatch(Communicator& comm, std::function<std::string(int rank)> place_of)
    : comm_(comm), place_of_(std::move(place_of)) {
  if (comm.node_size() == 1) return;
  const auto cards = static_cast<std::size_t>(comm.node_size()) * sizeof(Card);
  shared_ = comm.allocate_node_shared(sizeof(Board) + cards);
  card(comm.node_rank()) = {getpid(), process_namespace(), comm.rank(), 0};
  shared_->publish();
  find_peers();
  if (peers_.empty()) return;
  stop_ = eventfd(0, EFD_CLOEXEC);
  if (stop_ >= 0) thread_ = std::thread([this] { watch(); });
}

RankWatch::~RankWatch() {
  if (shared_) {
    // This rank will say its error, and the launcher kills the others one after the other: those
    // who see that have nothing to add.
    if (std::uncaught_exceptions() > 0) std::atomic_ref(board().is_reported).store(1);
    std::atomic_ref(card(comm_.node_rank()).has_left).store(1, std::memory_order_release);
  }
  if (thread_.joinable()) {
    eventfd_write(stop_, 1);
    thread_.join();
  }
  if (stop_ >= 0) close(stop_);
  for (const Peer& peer : peers_) close(peer.process);
}

RankWatch::Board& RankWatch::board() const {
  return *reinterpret_cast<Board*>(shared_->bytes().data());
}

RankWatch::Card& RankWatch::card(int node_rank) const {
  return reinterpret_cast<Card*>(shared_->bytes().data() + sizeof(Board))[node_rank];
}

void RankWatch::find_peers() {
  const std::uint64_t own_namespace = process_namespace();
  for (int node_rank = 0; node_rank < comm_.node_size(); ++node_rank) {
    const Card& other = card(node_rank);
    if (node_rank == comm_.node_rank() || other.process_namespace != own_namespace) continue;
    const int process = open_process(other.process);
    if (process >= 0) peers_.push_back({node_rank, process});
  }
}

bool RankWatch::has_left(const Peer& peer) const {
  return std::atomic_ref(card(peer.node_rank).has_left).load(std::memory_order_acquire) != 0;
}

void RankWatch::watch() {
  std::vector<pollfd> waiting;
  for (const Peer& peer : peers_) waiting.push_back({peer.process, POLLIN, 0});
  waiting.push_back({stop_, POLLIN, 0});
  for (;;) {
    if (poll(waiting.data(), waiting.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (waiting.back().revents != 0) return;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      if (!has_left(peers_[i])) report(peers_[i]);
      waiting[i].fd = -1;  // poll() passes over it
    }
  }
}

void RankWatch::report(const Peer& peer) const {
  const int rank = card(peer.node_rank).rank;
  if (std::atomic_ref(board().is_reported).exchange(1) == 0) {
    const std::string place = place_of_(rank);
    log::error("rank " + std::to_string(rank) + " on " + comm_.host(rank) +
               (place.empty() ? "" : " (" + place + ")") +
               " has ended without a word (killed, or crashed): all ranks end");
  }
  // Launchers report the first process that ends badly: let that be the one that did.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::atomic_ref(card(comm_.node_rank()).has_left).store(1, std::memory_order_release);
  std::_Exit(static_cast<int>(ExitCode::failure));
}

}  // namespace quern

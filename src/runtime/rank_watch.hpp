// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator.hpp"

namespace quern {

/// Ranks of a node look after each other while this exists: when the process of one ends without
/// having destroyed its own (it was killed, or crashed), one of the others says which it was, and
/// all of them end with exit status 1. Otherwise they would wait for it until the launcher ends
/// them. They say nothing once an exception has destroyed that of a rank: it says its error itself.
/// A thread sleeps in each process, which costs no time. A rank that is alone on its node, or whose
/// processes the others cannot see (containers), is left to the launcher.
class RankWatch {
 public:
  /// Collective; `comm` must outlive it. `place_of`: what else to say of a rank besides its number
  /// and host, or "".
  RankWatch(Communicator& comm, std::function<std::string(int rank)> place_of);
  /// Of all ranks of the node, unless they end by an error.
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;
  RankWatch(RankWatch&&) = delete;
  RankWatch& operator=(RankWatch&&) = delete;

 private:
  struct Card;
  struct Board;
  struct Peer {
    int node_rank = 0;
    int process = -1;  // a descriptor that becomes readable when it ends
  };

  Board& board() const;
  Card& card(int node_rank) const;
  void find_peers();
  void watch();
  bool has_left(const Peer& peer) const;
  [[noreturn]] void report(const Peer& peer) const;

  Communicator& comm_;
  std::function<std::string(int)> place_of_;
  std::unique_ptr<NodeShared> shared_;
  std::vector<Peer> peers_;
  int stop_ = -1;  // a descriptor that becomes readable when the thread is to end
  std::thread thread_;
};

}  // namespace quern

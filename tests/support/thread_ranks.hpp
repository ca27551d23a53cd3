// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process, so that the thread sanitizer sees what they share. They
// share a node and have no messages.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/node_barrier.hpp"

namespace quern::test {

/// What the ranks hand to each other: the newest block, and the barrier around that.
struct ThreadNode {
  explicit ThreadNode(int num_ranks) : size(num_ranks) {}
  int size;
  NodeBarrier::State state{};
  std::shared_ptr<std::vector<std::byte>> newest;
};

class ThreadNodeShared final : public NodeShared {
 public:
  ThreadNodeShared(ThreadNode& node, int rank, std::size_t bytes)
      : barrier_(node.state, node.size), is_leader_(rank == 0) {
    if (is_leader_) node.newest = std::make_shared<std::vector<std::byte>>(bytes + 64);
    publish();
    memory_ = node.newest;
    void* begin = memory_->data();
    std::size_t room = memory_->size();
    bytes_ = {static_cast<std::byte*>(std::align(64, bytes, begin, room)), bytes};
    publish();
  }

  std::span<std::byte> bytes() const override { return bytes_; }
  bool is_leader() const override { return is_leader_; }
  void publish() override {
    barrier_.wait([] { return true; });
  }

 private:
  NodeBarrier barrier_;
  bool is_leader_;
  std::shared_ptr<std::vector<std::byte>> memory_;
  std::span<std::byte> bytes_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(ThreadNode& node, int rank) : node_(node), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return node_.size; }
  int node_rank() const override { return rank_; }
  int node_size() const override { return node_.size; }
  const std::string& host(int) const override { return host_; }

  void barrier() override { no_messages(); }
  void broadcast(std::span<std::byte>, int) override { no_messages(); }
  void all_reduce_sum(std::span<float>) override { no_messages(); }
  void all_reduce_sum(std::span<double>) override { no_messages(); }
  void all_reduce_sum(std::span<std::int64_t>) override { no_messages(); }
  void all_reduce_max(std::span<std::int64_t>) override { no_messages(); }
  void all_gather_v(std::span<const float>, std::span<float>,
                    std::span<const std::int64_t>) override {
    no_messages();
  }
  void all_gather_v(std::span<const std::byte>, std::span<std::byte>,
                    std::span<const std::int64_t>) override {
    no_messages();
  }
  void all_to_all_v(std::span<const float>, std::span<const Segment>, std::span<float>,
                    std::span<const Segment>) override {
    no_messages();
  }
  std::unique_ptr<Communicator> split(int) override { no_messages(); }
  std::unique_ptr<Message> make_send(std::span<const float>, int, int) override { no_messages(); }
  std::unique_ptr<Message> make_receive(std::span<float>, int, int) override { no_messages(); }
  std::unique_ptr<NodeShared> allocate_node_shared(std::size_t bytes) override {
    return std::make_unique<ThreadNodeShared>(node_, rank_, bytes);
  }
  [[noreturn]] void abort(ExitCode) override { no_messages(); }

 private:
  [[noreturn]] static void no_messages() { throw Error("ranks that are threads have no messages"); }

  ThreadNode& node_;
  int rank_;
  std::string host_ = "here";
};

/// Runs body(communicator) on so many ranks, and waits for all.
inline void run_thread_ranks(int num_ranks, const std::function<void(Communicator&)>& body) {
  ThreadNode node(num_ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadCommunicator comm(node, rank);
      body(comm);
    });
  }
}

}  // namespace quern::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

#include "comm/communicator.hpp"
#include "comm/serial/node_shared.hpp"

namespace quern::testing {

/// The ranks of another communicator as they would be with one rank on each node: they share no
/// memory, and everything goes by messages.
class LoneNodes final : public Communicator {
 public:
  explicit LoneNodes(Communicator& ranks) : ranks_(ranks) {}

  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  int node_rank() const override { return 0; }
  int node_size() const override { return 1; }
  const std::string& host(int rank) const override { return ranks_.host(rank); }
  void barrier() override { ranks_.barrier(); }
  void broadcast(std::span<std::byte> bytes, int root) override { ranks_.broadcast(bytes, root); }
  void all_reduce_sum(std::span<float> values) override { ranks_.all_reduce_sum(values); }
  void all_reduce_sum(std::span<double> values) override { ranks_.all_reduce_sum(values); }
  void all_reduce_sum(std::span<std::int64_t> values) override { ranks_.all_reduce_sum(values); }
  void all_reduce_max(std::span<std::int64_t> values) override { ranks_.all_reduce_max(values); }
  void all_gather_v(std::span<const float> mine, std::span<float> all,
                    std::span<const std::int64_t> counts) override {
    ranks_.all_gather_v(mine, all, counts);
  }
  void all_gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                    std::span<const std::int64_t> counts) override {
    ranks_.all_gather_v(mine, all, counts);
  }
  void all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                    std::span<float> receive, std::span<const Segment> receive_from) override {
    ranks_.all_to_all_v(send, send_to, receive, receive_from);
  }
  std::unique_ptr<Communicator> split(int colour) override { return ranks_.split(colour); }
  std::unique_ptr<Message> make_send(std::span<const float> values, int to, int tag) override {
    return ranks_.make_send(values, to, tag);
  }
  std::unique_ptr<Message> make_receive(std::span<float> values, int from, int tag) override {
    return ranks_.make_receive(values, from, tag);
  }
  std::unique_ptr<NodeShared> allocate_node_shared(std::size_t bytes) override {
    return std::make_unique<SerialNodeShared>(bytes);
  }
  [[noreturn]] void abort(ExitCode code) override {
    ranks_.abort(code);
    std::abort();
  }

 private:
  Communicator& ranks_;
};

}  // namespace quern::testing

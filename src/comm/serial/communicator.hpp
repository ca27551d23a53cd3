// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/communicator.hpp"

namespace quern {

/// One rank: nothing moves, but sizes are checked as with many.
class SerialCommunicator final : public Communicator {
 public:
  SerialCommunicator();

  int rank() const override { return 0; }
  int size() const override { return 1; }
  int node_rank() const override { return 0; }
  int node_size() const override { return 1; }
  const std::string& host(int rank) const override;

  void barrier() override {}
  void broadcast(std::span<std::byte> bytes, int root) override;
  void all_reduce_sum(std::span<float>) override {}
  void all_reduce_sum(std::span<double>) override {}
  void all_reduce_sum(std::span<std::int64_t>) override {}
  void all_reduce_max(std::span<std::int64_t>) override {}
  void all_gather_v(std::span<const float> mine, std::span<float> all,
                    std::span<const std::int64_t> counts) override;
  void all_gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                    std::span<const std::int64_t> counts) override;
  void all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                    std::span<float> receive, std::span<const Segment> receive_from) override;
  std::unique_ptr<Communicator> split(int colour) override;
  std::unique_ptr<Message> make_send(std::span<const float> values, int to, int tag) override;
  std::unique_ptr<Message> make_receive(std::span<float> values, int from, int tag) override;
  std::unique_ptr<NodeShared> allocate_node_shared(std::size_t bytes) override;
  [[noreturn]] void abort(ExitCode code) override;

 private:
  std::string host_;
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/serial/communicator.hpp"

namespace quern {

/// A rank of several whose others are not there: nothing moves and nobody waits, so that what the
/// rank does by itself can be timed. What others would have sent stays what it was.
class AbsentRanks final : public Communicator {
 public:
  AbsentRanks(int rank, int size) : rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node_rank() const override { return 0; }
  int node_size() const override { return 1; }
  const std::string& host(int) const override { return alone_.host(0); }

  void barrier() override {}
  void broadcast(std::span<std::byte>, int) override {}
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
  /// Of the same ranks.
  std::unique_ptr<Communicator> split(int colour) override;
  std::unique_ptr<Message> make_send(std::span<const float> values, int to, int tag) override;
  std::unique_ptr<Message> make_receive(std::span<float> values, int from, int tag) override;
  std::unique_ptr<NodeShared> allocate_node_shared(std::size_t bytes) override;
  [[noreturn]] void abort(ExitCode code) override { alone_.abort(code); }

 private:
  int rank_;
  int size_;
  SerialCommunicator alone_;
};

}  // namespace quern

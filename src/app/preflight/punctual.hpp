// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/preflight/deadline.hpp"
#include "comm/communicator.hpp"

namespace quern {

/// The same ranks, which call their roll before they work together: where one does not come within
/// the deadline, the message names it, and all ranks end (exit status 1). Not before a sum of
/// floats: these are timed.
class Punctual final : public Communicator {
 public:
  Punctual(Communicator& ranks, const Deadline& deadline) : ranks_(ranks), deadline_(deadline) {}

  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  int node_rank() const override { return ranks_.node_rank(); }
  int node_size() const override { return ranks_.node_size(); }
  const std::string& host(int rank) const override { return ranks_.host(rank); }

  void barrier() override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void all_reduce_sum(std::span<float> values) override { ranks_.all_reduce_sum(values); }
  void all_reduce_sum(std::span<double> values) override { ranks_.all_reduce_sum(values); }
  void all_reduce_sum(std::span<std::int64_t> values) override;
  void all_reduce_max(std::span<std::int64_t> values) override;
  void all_gather_v(std::span<const float> mine, std::span<float> all,
                    std::span<const std::int64_t> counts) override;
  void all_gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                    std::span<const std::int64_t> counts) override;
  void gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                std::span<const std::int64_t> counts) override;
  void all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                    std::span<float> receive, std::span<const Segment> receive_from) override;
  std::unique_ptr<Communicator> split(int colour) override;
  std::unique_ptr<Message> make_send(std::span<const float> values, int to, int tag) override;
  std::unique_ptr<Message> make_receive(std::span<float> values, int from, int tag) override;
  std::unique_ptr<NodeShared> allocate_node_shared(std::size_t bytes) override;
  [[noreturn]] void abort(ExitCode code) override;

 private:
  void call_roll();

  Communicator& ranks_;
  const Deadline& deadline_;
};

}  // namespace quern

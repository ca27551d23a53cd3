// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/mpi/chunks.hpp"
#include "comm/mpi/error.hpp"
#include "comm/mpi/roll_call.hpp"
#include "comm/mpi/segment_exchange.hpp"

namespace quern {

/// The ranks of an MPI communicator, on a duplicate of it.
class MpiCommunicator final : public Communicator {
 public:
  /// Collective. `most_at_once`: elements that one call of MPI moves, at least one of each rank and
  /// at most what an int counts. What is more goes in several.
  explicit MpiCommunicator(MPI_Comm parent, std::int64_t most_at_once = kMaxCount);
  /// Collective, unless an exception unwinds: then other ranks may never come here.
  ~MpiCommunicator() override;

  /// Collective: frees the duplicate. Once; the destructor then has nothing to do.
  void release();

  const MpiCaller& caller() const { return caller_; }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node_rank() const override { return node_rank_; }
  int node_size() const override { return node_size_; }
  const std::string& host(int rank) const override;

  void barrier() override;
  std::vector<int> roll_call(std::chrono::milliseconds most) override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void all_reduce_sum(std::span<float> values) override;
  void all_reduce_sum(std::span<double> values) override;
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
  void gather_hosts();
  void check_message(int other, int tag) const;
  /// for_each_chunk() with this communicator's limit.
  template <class T, class Call>
  void in_chunks(std::span<T> values, Call&& call) const;
  template <class T>
  void all_reduce(std::span<T> values, MPI_Datatype type, MPI_Op op);
  /// How Allgatherv and Gatherv are told of `counts`.
  void tabulate(std::span<const std::int64_t> counts);
  template <class T>
  void gather(std::span<const T> mine, std::span<T> all, std::span<const std::int64_t> counts,
              MPI_Datatype type);
  template <class T>
  void gather_long(std::span<const T> mine, std::span<T> all, std::span<const std::int64_t> counts);

  MPI_Comm world_ = MPI_COMM_NULL;
  MPI_Comm node_ = MPI_COMM_NULL;
  MpiCaller caller_;  ///< its rank is that of the whole run
  int rank_ = 0;
  int size_ = 1;
  int node_rank_ = 0;
  int node_size_ = 1;
  std::vector<std::string> hosts_;
  std::int64_t most_at_once_;
  CountTable gathered_;
  std::optional<SegmentExchange> segments_;
  std::optional<RollCall> roll_call_;
  int exceptions_at_start_;
};

}  // namespace quern

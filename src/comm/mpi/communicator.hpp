// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/mpi/error.hpp"

namespace quern {

/// The ranks of an MPI communicator, on a duplicate of it.
class MpiCommunicator final : public Communicator {
 public:
  /// Collective.
  explicit MpiCommunicator(MPI_Comm parent);
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
  void broadcast(std::span<std::byte> bytes, int root) override;
  void all_reduce_sum(std::span<float> values) override;
  void all_reduce_sum(std::span<double> values) override;
  void all_reduce_sum(std::span<std::int64_t> values) override;
  void all_reduce_max(std::span<std::int64_t> values) override;
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
  /// MPI's counts and displacements, kept so that no exchange allocates.
  struct Table {
    std::vector<int> counts;
    std::vector<int> offsets;
    void resize(int size);
    void fill(std::span<const Segment> segments);
  };

  void gather_hosts();
  void check_message(std::size_t size, int other, int tag) const;
  template <class T>
  void all_reduce(std::span<T> values, MPI_Datatype type, MPI_Op op);
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
  Table send_;
  Table receive_;
  int exceptions_at_start_;
};

}  // namespace quern

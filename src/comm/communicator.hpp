// SPDX-License-Identifier: Apache-2.0
// The ranks of a run, or some of them, and what they can do together. Every call except rank
// queries, messages and abort() is collective: all ranks call it, in the same order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/exit_code.hpp"
#include "comm/message.hpp"
#include "comm/node_shared.hpp"

namespace quern {

/// A run of elements inside a buffer.
struct Segment {
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

/// The same, for or from another rank.
struct RankSegment {
  int rank = 0;
  std::int64_t offset = 0;
  std::int64_t count = 0;
  friend bool operator==(const RankSegment&, const RankSegment&) = default;
};

/// Buffers are host memory. Failures of the transport throw Error with the call, the rank and the
/// host; the other ranks may then be stuck, so only abort() ends the run.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  Communicator(Communicator&&) = delete;
  Communicator& operator=(Communicator&&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Rank among the ranks that share this one's memory, and how many they are.
  virtual int node_rank() const = 0;
  virtual int node_size() const = 0;
  /// Host name of any rank.
  virtual const std::string& host(int rank) const = 0;

  virtual void barrier() = 0;
  /// A barrier that can tell who does not come. Empty: all are here. Otherwise, on rank 0 or, where
  /// that is missing itself, on the last rank, those that have not come some seconds after `most`;
  /// the other ranks stay in this call, and only abort() ends the run. A transport that knows of no
  /// such way waits.
  virtual std::vector<int> roll_call(std::chrono::milliseconds most);

  /// The bytes of `root` to everybody; equal sizes on all ranks.
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;

  /// In place, elementwise; equal sizes on all ranks. All ranks get the same bits, but the order of
  /// floating-point additions is the transport's: it may depend on the number of ranks.
  virtual void all_reduce_sum(std::span<float> values) = 0;
  virtual void all_reduce_sum(std::span<double> values) = 0;
  virtual void all_reduce_sum(std::span<std::int64_t> values) = 0;
  virtual void all_reduce_max(std::span<std::int64_t> values) = 0;

  /// Everybody gets everybody's elements, in rank order without gaps. `counts[r]` is what rank r
  /// contributes, the same table on all ranks; mine.size() == counts[rank()]. `mine` may be its own
  /// place inside `all`: then it is not copied.
  virtual void all_gather_v(std::span<const float> mine, std::span<float> all,
                            std::span<const std::int64_t> counts) = 0;
  virtual void all_gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                            std::span<const std::int64_t> counts) = 0;

  /// The same for rank 0 alone; `all` may be empty on the others.
  virtual void gather_v(std::span<const std::byte> mine, std::span<std::byte> all,
                        std::span<const std::int64_t> counts);

  /// Rank d gets send[send_to[d]] and puts it to receive[receive_from[r]], r being the sender.
  /// Counts of a pair must agree; 0 sends nothing. Receive segments must not overlap.
  virtual void all_to_all_v(std::span<const float> send, std::span<const Segment> send_to,
                            std::span<float> receive, std::span<const Segment> receive_from) = 0;

  /// The ranks that give the same colour, in the order that they have here. `colour` >= 0. The new
  /// communicator must end before this one, on all of its ranks unless they all end by an error.
  virtual std::unique_ptr<Communicator> split(int colour) = 0;

  /// The ends of a message from one rank to another; not collective. The two ends agree on size and
  /// `tag`, which tells messages of the same two ranks apart: 0 <= tag < 32766. They must end
  /// before this communicator.
  virtual std::unique_ptr<Message> make_send(std::span<const float> values, int to, int tag) = 0;
  virtual std::unique_ptr<Message> make_receive(std::span<float> values, int from, int tag) = 0;

  /// Memory that exists once per node, zero-filled. `bytes` must be equal on all ranks of a node.
  virtual std::unique_ptr<NodeShared> allocate_node_shared(std::size_t bytes) = 0;

  /// Ends all ranks of the run at once with this exit status. Not collective: for a failure of one
  /// rank that the others do not know of. Print the message first.
  [[noreturn]] virtual void abort(ExitCode code) = 0;
};

}  // namespace quern

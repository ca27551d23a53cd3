// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "linalg/tensor_exchange.hpp"
#include "parallel/tree_sum.hpp"

namespace quern {

/// TensorExchange over the ranks of a communicator, in host memory. A sum of n floats takes two
/// exchanges: rank r gets everybody's r-th slice and adds these, then everybody gets the sums. So a
/// rank sends 2 n (R-1)/R floats, as in a ring; messages move bytes and add nothing.
class TensorGroup final : public TensorExchange {
 public:
  /// `comm` must outlive it. `most_summed`: floats of the longest array that will be added.
  TensorGroup(Communicator& comm, std::int64_t most_summed);

  /// What the constructor allocates.
  static std::int64_t bytes(int ranks, std::int64_t most_summed);

  void gather(const ExecSpace& exec, const FloatView& all, std::span<const std::int64_t> shares,
              std::int64_t share_floats) override;
  void sum(const ExecSpace& exec, const FloatView& values) override;

 private:
  Communicator& comm_;
  std::int64_t slice_floats_;  // of the longest array
  FloatView received_;         // a slice from each rank
  TreeSumPlan plan_;
  // Written by every call; they keep their memory.
  std::vector<std::int64_t> counts_;
  std::vector<Segment> send_to_;
  std::vector<Segment> receive_from_;
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/device_transport.hpp"
#include "linalg/tensor_exchange.hpp"
#include "parallel/tree_sum.hpp"

namespace quern {

/// TensorExchange over the ranks of a transport. A sum of n floats takes two exchanges: rank r gets
/// everybody's r-th slice and adds these, then everybody gets the sums. So a rank sends
/// 2 n (R-1)/R floats, as in a ring; the transport moves floats and adds none, so the bits are
/// those of the tree whatever it is.
class TensorGroup final : public TensorExchange {
 public:
  /// `transport` must outlive it. `most_summed`: floats of the longest array that will be added.
  TensorGroup(DeviceTransport& transport, std::int64_t most_summed);

  /// What the constructor allocates.
  static std::int64_t bytes(int ranks, std::int64_t most_summed);

  void gather(const ExecSpace& exec, const FloatView& all, std::span<const std::int64_t> shares,
              std::int64_t share_floats) override;
  void sum(const ExecSpace& exec, const FloatView& values) override;

 private:
  DeviceTransport& transport_;
  std::int64_t slice_floats_;  // of the longest array
  FloatView received_;         // a slice from each rank; its own is added where it lies
  TreeSumPlan plan_;
  // Written by every call; they keep their memory.
  std::vector<std::int64_t> counts_;
  std::vector<Segment> send_to_;
  std::vector<Segment> receive_from_;
};

}  // namespace quern

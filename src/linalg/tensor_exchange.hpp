// SPDX-License-Identifier: Apache-2.0
// What the ranks of a tensor group, which share the units of a layer, hand each other in the middle
// of a pass. Layers know nothing of ranks: whoever runs a step hands them this.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/types.hpp"

namespace quern {

/// Of a layer: floats of the arrays that are exchanged in a step.
struct ExchangedFloats {
  std::int64_t gathered = 0;  ///< forward
  std::int64_t summed = 0;    ///< backward, where somebody wants dx
};

/// Collective: all ranks of the group ask for the same in the same order. What follows on `exec`
/// sees the result.
class TensorExchange {
 public:
  virtual ~TensorExchange() = default;

  /// Everybody gets everybody's part of `all`. Rank r's has shares[r] * share_floats floats; the
  /// parts lie in the order of the ranks, without gaps, and this rank's is in its place.
  virtual void gather(const ExecSpace& exec, const FloatView& all,
                      std::span<const std::int64_t> shares, std::int64_t share_floats) = 0;

  /// Everybody gets the sum of the ranks' `values`, in their place, added in the binary tree over
  /// the ranks (base/block_tree.hpp).
  virtual void sum(const ExecSpace& exec, const FloatView& values) = 0;
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "parallel/gradient_slices.hpp"
#include "tensor/parameter_block.hpp"

namespace quern {

/// Who updates the parameters from the sum of the gradients.
struct Updaters {
  /// False: every rank all of them, or where ranks share the parameters each a part. True: every
  /// rank its own ranges, with optimizer state for these alone, and hands them to the others (ZeRO
  /// stage 1: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
  /// Models", SC 2020).
  bool are_owners = false;
  /// Ranges of owners are multiples of so many floats, but for the last; a multiple of kLanes.
  std::int64_t unit = kLanes;
};

/// The slices of the block that ranks on hosts own (Updaters::are_owners), a slice each.
class OwnerSlices {
 public:
  /// `comm` must outlive it.
  OwnerSlices(Communicator& comm, std::int64_t num_floats, std::int64_t unit);

  const GradientSlices& slices() const { return slices_; }
  /// One range, or none.
  std::vector<BlockRange> ranges_of(int rank) const;
  /// Collective: everybody gets everybody's slice of `block`, host memory of num_floats floats.
  void gather(std::span<float> block) const;

 private:
  Communicator& comm_;
  GradientSlices slices_;
  std::vector<std::int64_t> counts_;
};

/// None where every rank updates all parameters, or is alone.
std::optional<OwnerSlices> make_owners(Communicator& comm, std::int64_t num_floats,
                                       const Updaters& updaters);

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Which parameters decay (optimizer.decay), and which learn at a rate of their own (lr_factor of a
// layer).
#pragma once

#include "optim/optimizer.hpp"

namespace quern {

/// How parameters are treated.
struct ParameterGroup {
  float decay = 0;      ///< weight decay, 0 for none
  float lr_factor = 1;  ///< times the learning rate

  friend bool operator==(const ParameterGroup&, const ParameterGroup&) = default;
};

/// Plain data that kernels copy. Places count from the begin of an optimizer's part.
struct ParameterGroups {
  ParameterGroup all;                        ///< where there is one group
  View<const ParameterGroup> groups;         ///< where there are several: these,
  View<const unsigned char> group_of_lanes;  ///< and of every kLanes floats its number; else empty

  /// Calls run(first, last, group) for the pieces of [begin, end) that are treated alike. Tensors
  /// begin on a lane group, so a piece does, too, unless `begin` is inside one.
  template <class Run>
  KOKKOS_INLINE_FUNCTION void for_each_piece(std::int64_t begin, std::int64_t end,
                                             const Run& run) const {
    if (group_of_lanes.extent(0) == 0) {
      run(begin, end, all);
      return;
    }
    while (begin < end) {
      const unsigned char number = group_of_lanes(begin / kLanes);
      std::int64_t last = (begin / kLanes + 1) * kLanes;
      while (last < end && group_of_lanes(last / kLanes) == number) last += kLanes;
      last = last < end ? last : end;
      run(begin, last, groups(number));
      begin = last;
    }
  }
};

/// What `spec` and the layers say, for the `part` of the block that `table` describes. There are at
/// most kMaxLrFactors different factors.
ParameterGroups make_parameter_groups(const OptimizerSpec& spec, const ParameterTable& table,
                                      const OptimizerPart& part);

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// How strong weight decay is, and which parameters it applies to (optimizer.decay).
#pragma once

#include "optim/optimizer.hpp"

namespace quern {

/// Plain data that kernels copy. Places count from the begin of an optimizer's part.
struct WeightDecay {
  float strength = 0;
  /// Of every group of kLanes floats: 1 where decay applies. Empty: it applies everywhere.
  View<const unsigned char> applies;

  /// Calls run(first, last, strength or 0) for the pieces of [begin, end) that are treated alike.
  /// Tensors begin on a lane group, so a piece does, too, unless `begin` is inside one.
  template <class Run>
  KOKKOS_INLINE_FUNCTION void for_each_piece(std::int64_t begin, std::int64_t end,
                                             const Run& run) const {
    if (applies.extent(0) == 0) {
      run(begin, end, strength);
      return;
    }
    while (begin < end) {
      const unsigned char kind = applies(begin / kLanes);
      std::int64_t last = (begin / kLanes + 1) * kLanes;
      while (last < end && applies(last / kLanes) == kind) last += kLanes;
      last = last < end ? last : end;
      run(begin, last, kind != 0 ? strength : 0.0f);
      begin = last;
    }
  }
};

/// What `spec` says, for the `part` of the block that `table` describes.
WeightDecay make_weight_decay(const OptimizerSpec& spec, const ParameterTable& table,
                              const OptimizerPart& part);

}  // namespace quern

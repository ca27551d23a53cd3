// SPDX-License-Identifier: Apache-2.0
// What a run counts, kept where the kernels run: the host looks at it now and then.
#pragma once

#include <atomic>
#include <cstdint>

#include "tensor/step_scalars.hpp"

namespace quern {

/// Losses are of samples, not divided by their number; correct answers are those that the loss
/// counts, 0 where it counts none.
struct MetricSums {
  // Of the epoch so far, over all ranks: the same additions in the same order whenever the host
  // looks.
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t samples = 0;
  double rank_loss = 0;        ///< this rank's: sum over the batches of its own mean losses
  double rank_batch_loss = 0;  ///< of its samples of the batch under way

  // Of the last batch, over all ranks.
  float batch_loss = 0;  ///< or of the first batch whose loss was not finite
  float batch_correct = 0;

  float votes = 0;  ///< to stop, of all steps
};

using MetricSumsView = ScalarView<MetricSums>;

/// What kernels read from the host, and tell it, while it runs ahead of them: pinned memory.
struct HostFlags {
  float vote = 0;  ///< 1: this rank asks for a stop
  /// Written by the kernels: batches that they have ended, ever. That a device gets on is seen by
  /// it, and nothing else: it may lag behind what else is in memory.
  std::int64_t batches_ended = 0;
};

using HostFlagsView = Kokkos::View<HostFlags, Kokkos::SharedHostPinnedSpace>;

/// As far as the host sees it now; does not wait.
inline std::int64_t batches_ended(const HostFlagsView& flags) {
  return std::atomic_ref(flags().batches_ended).load(std::memory_order_relaxed);
}

}  // namespace quern

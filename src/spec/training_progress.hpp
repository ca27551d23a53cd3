// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quern {

/// Where training stands. A resumed run needs nothing else to continue with the same bits.
struct TrainingProgress {
  std::int64_t step = 0;      ///< steps done since the start of the run
  std::int64_t epoch = 0;     ///< epochs completed; also the index of the epoch in progress
  std::int64_t cursor = 0;    ///< samples of the epoch in progress already consumed
  double epoch_loss_sum = 0;  ///< sum of sample losses of the epoch in progress
  std::int64_t epoch_correct = 0;
  std::int64_t epoch_samples = 0;
  std::int64_t plateaus = 0;       ///< how often one has lowered the rate (ScheduleType::plateau)
  std::int64_t plateau_epoch = 0;  ///< epochs that were done when the last one did
  friend bool operator==(const TrainingProgress&, const TrainingProgress&) = default;
};

}  // namespace quern

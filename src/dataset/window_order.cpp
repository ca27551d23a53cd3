// SPDX-License-Identifier: Apache-2.0
#include "dataset/window_order.hpp"

#include <algorithm>

#include "base/ceil_div.hpp"

namespace quern {

WindowPlan make_window_plan(std::int64_t count, std::int64_t batch, std::int64_t block_samples,
                            std::int64_t window, std::int64_t most_chunk, bool shuffle) {
  WindowPlan plan{count, batch, block_samples, 1, 1, shuffle};
  if (window >= count) return plan;
  // Every track has room for whole micro-blocks, also the one whose blocks are shorter.
  const std::int64_t steps = std::max<std::int64_t>(1, window / (plan.tracks() * block_samples));
  plan.windows = ceil_div(plan.steps(), steps);
  const std::int64_t samples = plan.window_steps() * block_samples;  // of a track
  const std::int64_t most = std::max<std::int64_t>(1, most_chunk);
  const std::int64_t least =
      std::clamp<std::int64_t>(most / 8, 1, std::max<std::int64_t>(1, samples / 4));
  plan.chunk = std::clamp(samples / 16, least, std::max(most, least));
  return plan;
}

}  // namespace quern

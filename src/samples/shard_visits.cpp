// SPDX-License-Identifier: Apache-2.0
#include "samples/shard_visits.hpp"

#include <algorithm>
#include <cstdint>

#include "base/ceil_div.hpp"
#include "base/unit_text.hpp"

namespace quern {

namespace {

// A parallel file system opens a file in about the time in which it reads so much.
constexpr std::int64_t kShortVisitBytes = std::int64_t{1} << 18;

}  // namespace

std::string short_visits_text(const WindowPlan& plan, const WindowBuffers& buffers,
                              const ShardSet& set, std::size_t most_open) {
  const auto shards = static_cast<std::int64_t>(set.shards().size());
  const std::int64_t samples = buffers.tracks * buffers.capacity;
  if (set.shards().size() <= most_open || samples == 0) return "";
  // In the set's own order all of a window lies side by side.
  const std::int64_t side_by_side = plan.shuffle ? plan.chunk : plan.window_samples();
  const std::int64_t pieces = plan.shuffle ? ceil_div(samples, plan.chunk) : 1;
  const std::int64_t files_of_piece = 1 + side_by_side * shards / set.count();
  const std::int64_t files = std::min(shards, pieces * files_of_piece);
  const std::int64_t bytes = set.stored_bytes() / set.count() * samples / files;
  if (bytes >= kShortVisitBytes) return "";
  return "the " + set.split() + " set '" + set.name() + "' has " + std::to_string(shards) +
         " shards, of which a rank keeps " + std::to_string(most_open) +
         " open at most, and a window takes about " + bytes_text(bytes) +
         " out of each: opening files may take longer than reading them (expected fewer and larger "
         "shards, or a larger data.memory)";
}

}  // namespace quern

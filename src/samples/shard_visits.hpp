// SPDX-License-Identifier: Apache-2.0
// How much a streamed set gives for each file that is opened.
#pragma once

#include <cstddef>
#include <string>

#include "dataset/window_order.hpp"
#include "io/shard_set.hpp"

namespace quern {

/// Says that a rank with these buffers opens many files in every window and reads little of each;
/// "" where it does not, or where all of them stay open: a rank keeps `most_open` files open.
std::string short_visits_text(const WindowPlan& plan, const WindowBuffers& buffers,
                              const ShardSet& set, std::size_t most_open);

}  // namespace quern

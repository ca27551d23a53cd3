// SPDX-License-Identifier: Apache-2.0
// Private to io/: what has been read out of a shard must mean something.
#pragma once

#include <cstdint>
#include <span>

#include "io/shard_set.hpp"

namespace quern {

/// `values` [n, units], of the samples from the one numbered `first` on. UnusableError, with the
/// file, unless all are finite.
void check_finite(const Shard& shard, const char* name, std::span<const float> values,
                  std::int64_t units, std::int64_t first);

/// Likewise unless the labels are below `classes`.
void check_labels(const Shard& shard, std::span<const std::int32_t> labels, int classes,
                  std::int64_t first);

}  // namespace quern

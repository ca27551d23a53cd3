// SPDX-License-Identifier: Apache-2.0
// Samples that have been read, or are about to be stored or shown to a network, must mean
// something. What is wrong with the first one that does not, for a message; nothing where all do.
// Samples count from `first`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "io/shard_content.hpp"

namespace quern {

/// Of `values` [n, units] that are not finite, or not after rounding to `stored`: "the values of
/// sample 7 hold nan, expected finite float16 numbers". `name`: "values".
std::optional<std::string> find_not_finite(std::span<const float> values, const char* name,
                                           std::int64_t units, std::int64_t first,
                                           std::optional<StoredType> stored = std::nullopt);

/// Of labels that are not below `classes`: "label 12 of sample 3 is out of range, expected 0 to 9".
std::optional<std::string> find_wrong_label(std::span<const std::int32_t> labels, int classes,
                                            std::int64_t first);

/// InputError if anything is wrong. `origin`: the file that it came from, quoted, or empty.
void refuse_input(const std::string& origin, const std::optional<std::string>& wrong);

}  // namespace quern

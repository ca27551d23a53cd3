// SPDX-License-Identifier: Apache-2.0
// Samples that are about to be stored, or shown to a network, must be numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/shard_content.hpp"

namespace quern {

/// "'t.csv': ", before what is wrong with it; nothing where there is no file.
std::string origin_prefix(const std::string& origin);

/// InputError unless `values` of samples of `shape`, from the one numbered `first` on, are finite,
/// also after rounding to float16 where that is the type. `name`: "values"; `origin`: the file,
/// quoted, or empty.
void check_finite_samples(std::span<const float> values, const char* name, const Shape& shape,
                          StoredType stored, std::int64_t first, const std::string& origin);

}  // namespace quern

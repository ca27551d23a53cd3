// SPDX-License-Identifier: Apache-2.0
// The order of samples in a set, and a part of them that is held out.
#pragma once

#include <cstdint>

#include "app/sample_set.hpp"

namespace quern {

/// Puts a set that is whole in memory into a random order, which depends on `seed` and the number
/// of samples alone: that of Permutation(seed, 0, count). Takes the memory of the largest array
/// once more.
void shuffle_samples(SampleSet& set, std::uint64_t seed);

/// Removes the last `count` samples, 0 < count < set.count, of a set that is whole in memory;
/// -> these, as a set with the same content.
SampleSet split_off(SampleSet& set, std::int64_t count);

/// InputError unless a share lies between 0 and 1.
void check_share(double share);

/// How many samples such a share of a set is: at least one, and not all. InputError.
std::int64_t held_out_samples(double share, std::int64_t count);

}  // namespace quern

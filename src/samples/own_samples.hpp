// SPDX-License-Identifier: Apache-2.0
// Samples that a program makes itself, for data.source = "program".
//
// Every rank passes the same arrays and keeps a copy of them. For a data set that should lie in
// memory once a node there is make_node_samples (samples/node_samples.hpp). Kokkos is running until
// the samples are gone, as inside run_on_ranks.
#pragma once

#include <cstdint>
#include <span>

#include "base/shape.hpp"
#include "samples/node_samples.hpp"
#include "strategy/samples.hpp"

namespace quern {

/// Samples of `shape` with the class of each: values [count, units], labels [count]. InputError
/// when the sizes do not fit each other, a value is not finite, or a label is not below `classes`.
Samples make_labelled_samples(const Shape& shape, std::span<const float> values,
                              std::span<const std::uint8_t> labels, int classes);

/// Samples of `shape` with `target_units` numbers to be predicted for each: values [count, units],
/// targets [count, target_units]. For an auto-encoder both 0 and empty. InputError when the sizes
/// do not fit each other, or a value or target is not finite.
Samples make_target_samples(const Shape& shape, std::span<const float> values, int target_units,
                            std::span<const float> targets);

}  // namespace quern

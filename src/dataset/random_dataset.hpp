// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace quern {

/// The toy data of source = "random": overwrites `inputs` [samples, units] and `targets`
/// [samples, target units] with numbers uniform in [0, 1). They depend on the seed and the place in
/// the array only. Either may be empty.
void fill_random_samples(std::uint64_t seed, std::span<float> inputs, std::span<float> targets);

/// And its classes: overwrites `labels` [samples] with numbers below `classes`.
void fill_random_labels(std::uint64_t seed, int classes, std::span<std::int32_t> labels);

}  // namespace quern

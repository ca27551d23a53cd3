// SPDX-License-Identifier: Apache-2.0
// Each channel of a batch to mean 0 and deviation 1: the first thing that happens to it. Of targets
// also the way back.
#pragma once

#include <span>

#include "tensor/activation.hpp"

namespace quern {

/// What is subtracted from every unit of a sample, and what it is divided by: those of its channel.
/// Padded to whole vectors with 0 and 1.
struct Normalization {
  ConstFloatView mean;
  ConstFloatView std;

  bool is_active() const { return mean.extent(0) > 0; }
};

/// `mean` and `std`: one for each channel of `shape`, or one for all. Waits.
Normalization make_normalization(const Shape& shape, std::span<const double> mean,
                                 std::span<const double> std);

/// y = (y - mean) / std, in place, in any layout but tiles. Rows without a sample stay as they are,
/// and so does padding.
void normalize(const ExecSpace& exec, const Normalization& normalization,
               const View<const std::int64_t>& sample_of_row, const Activation& y);

/// The way back: y = y * std + mean, likewise.
void denormalize(const ExecSpace& exec, const Normalization& normalization,
                 const View<const std::int64_t>& sample_of_row, const Activation& y);

}  // namespace quern

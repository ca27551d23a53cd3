// SPDX-License-Identifier: Apache-2.0
// From the data set in memory to the activation of a batch.
#pragma once

#include "layers/window.hpp"
#include "tensor/activation.hpp"

namespace quern {

/// y(row) = images(sample_of_row(row)) / 255, the division rounded as in float. `images`: bytes
/// [N, units], units as y has. Rows with sample -1, and the padding of rows, become zero.
/// Overwrites y, in any layout; rounded in tiles. Samples must be below N. `windows`: what each row
/// is to show of its sample; empty: all of it.
void gather_images(const ExecSpace& exec, const View<const std::uint8_t>& images,
                   const View<const std::int64_t>& sample_of_row, const Activation& y,
                   const View<const Window>& windows = {});

/// The same for floats [N, units], taken as they are.
void gather_values(const ExecSpace& exec, const ConstFloatView& values,
                   const View<const std::int64_t>& sample_of_row, const Activation& y,
                   const View<const Window>& windows = {});

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Weights of 3 x 3 pixels as Winograd's algorithm multiplies them (winograd_transforms.hpp).
#pragma once

#include "layers/conv2d_kernels.hpp"

namespace quern::host {

/// Floats of packed weights: 16 for each pair of channels.
std::int64_t winograd_packed_floats(const ConvShape& shape);

/// W [O, C, 3, 3] transformed, in the order in which the products of the outputs read it: [tile of
/// output channels][position][input channel][channel of the tile]. Overwrites `packed`.
void pack_winograd_forward(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                           float* packed);
/// The same for the input gradient: kernels turned by half a circle, channels exchanged.
void pack_winograd_gradient(const ExecSpace& exec, const ConvShape& shape, const float* weight,
                            float* packed);

}  // namespace quern::host

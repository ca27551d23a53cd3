// SPDX-License-Identifier: Apache-2.0
// Fusion: a neighbour computes an op as well, so that an activation is touched once less.
#pragma once

#include "network/ops.hpp"

namespace quern {

/// Lets layers apply the ReLU after them, and the derivative of the one before them. The bits stay
/// the same.
void fuse_relus(Ops& ops);

/// Of [convolution, ReLU, pool] at the beginning, where nobody wants the gradient of the input:
/// lets the convolution compute all three, and the large image between them is neither written nor
/// read. The three share the pool's output buffer. After fuse_relus(). The bits stay the same.
void fuse_first_pool(Ops& ops);

}  // namespace quern

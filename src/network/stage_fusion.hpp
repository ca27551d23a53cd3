// SPDX-License-Identifier: Apache-2.0
// Stages that a neighbour computes along, so that an activation is touched once less.
#pragma once

#include "network/stages.hpp"

namespace quern {

/// Lets layers apply the ReLU behind them, and its slope where it is in front of them. The bits
/// stay.
void fuse_relus(Stages& stages);

/// Of [convolution, ReLU, pool] at the begin, where nobody wants the gradient of the input: lets
/// the convolution compute all three, and the large image between them is neither written nor read.
/// The three share the pool's output buffer. After fuse_relus(). The bits stay.
void fuse_first_pool(Stages& stages);

}  // namespace quern

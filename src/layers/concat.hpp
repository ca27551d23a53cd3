// SPDX-License-Identifier: Apache-2.0
// Several activations in one, channel after channel, and the way back of the gradient:
// torch.cat(..., 1). One call for each of the parts. Units lie channel by channel, so that a part
// is a range of units whatever its height and width.
#pragma once

#include "tensor/activation.hpp"

namespace quern {

/// Overwrites the units of `y` from `first` on with those of `x`. Both have the same rows and one
/// layout: nchw16n, nc or cn16c. With the last of the parts the padding of nc and cn16c becomes
/// zero.
void concat(const ExecSpace& exec, const Activation& x, const Activation& y, int first);

/// Overwrites `dx` with the units of `dy` from `first` on. As above; the padding becomes zero.
void concat_backward(const ExecSpace& exec, const Activation& dy, int first, const Activation& dx);

}  // namespace quern

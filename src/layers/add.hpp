// SPDX-License-Identifier: Apache-2.0
// The sum of two activations: where two branches of a network meet, and, in the backward pass, of
// the gradients of a value that several layers read.
#pragma once

#include "tensor/activation.hpp"

namespace quern {

/// y = a + b, then max(y, 0) if `with_relu`. Overwrites y, which may be `a` or `b`. All have the
/// same size and layout. NaN stays NaN.
void add(const ExecSpace& exec, const Activation& a, const Activation& b, bool with_relu,
         const Activation& y);

/// to = a + b where y > 0, else 0: the gradient in front of a ReLU that puts out `y`, of the two
/// parts of that after it. Overwrites `to`, which may be `a` or `b`. All have the same size and
/// layout.
void add_relu_gradients(const ExecSpace& exec, const Activation& a, const Activation& b,
                        const Activation& y, const Activation& to);

}  // namespace quern

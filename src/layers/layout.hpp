// SPDX-License-Identifier: Apache-2.0
// Conversion between the layouts, where an image layer meets a flat one.
#pragma once

#include "tensor/activation.hpp"

namespace quern {

/// Copies the values of `from` to `to`, which has the same rows and as many units (the shapes may
/// differ: flattening) and may have another layout. Overwrites; the padding of nc and cn16c becomes
/// zero.
void convert_layout(const ExecSpace& exec, const Activation& from, const Activation& to);

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Conversion between the layouts, where an image layer meets a flat one.
#pragma once

#include "tensor/activation.hpp"

namespace quern {

/// In tiles values and gradients are laid out differently.
enum class Content { value, gradient };

/// Copies the values of `from` to `to`, which has the same rows and as many units (the shapes may
/// differ: flattening) and may have another layout. Overwrites; the padding of nc and cn16c becomes
/// zero. Rounds on the way to tiles.
void convert_layout(const ExecSpace& exec, const Activation& from, const Activation& to,
                    Content content = Content::value);

}  // namespace quern

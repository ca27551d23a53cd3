// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/shape.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// What `layer` puts out, as docs/recipes.md describes it, for inputs of a shape that fits.
Shape output_shape(const LayerSpec& layer, const Shape& input);

}  // namespace quern

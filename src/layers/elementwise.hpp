// SPDX-License-Identifier: Apache-2.0
// Layers that map every unit by itself, in either layout: ReLU, Tanh, Sigmoid, GELU.
#pragma once

#include <memory>

#include "layers/layer.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// Layer of type relu, tanh, sigmoid or gelu (the exact one, with erf, as PyTorch's default). x and
/// y, and dx and dy, may be the same array for all but gelu, whose backward needs x.
/// backward reads y (relu, tanh, sigmoid) or x (gelu). NaN stays NaN.
std::unique_ptr<Layer> make_elementwise(const LayerSpec& spec, const Shape& input);

}  // namespace quern

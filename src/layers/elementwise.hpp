// SPDX-License-Identifier: Apache-2.0
// Layers that map every unit by itself, in either layout: ReLU, LeakyReLU, Tanh, Sigmoid, GELU,
// SiLU.
#pragma once

#include <memory>

#include "layers/layer.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// Layer of type relu, leaky_relu, tanh, sigmoid, gelu (the exact one, with erf, as PyTorch's
/// default) or silu. x and y, and dx and dy, may be the same array for all but gelu and silu, whose
/// backward reads x; that of the others reads y. NaN stays NaN.
std::unique_ptr<Layer> make_elementwise(const LayerSpec& spec, const Shape& input);

}  // namespace quern

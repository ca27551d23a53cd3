// SPDX-License-Identifier: Apache-2.0
// Layers that are not Quern's own. A program registers a kind of layer, and its recipes may then
// say {type = "custom", kind = "swish"}. examples/my_own_layer.cpp shows one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "layers/layer.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// Makes the layer that `spec` describes for inputs of shape `input`: with spec.name as its name
/// and `input` as its input shape. May throw InputError. A network makes its layers more than once.
using LayerMaker = std::function<std::unique_ptr<Layer>(const LayerSpec& spec, const Shape& input)>;

/// Makes `kind` known to all networks of this process that are built from now on, on every rank.
/// Once for a kind, before run_on_ranks or in it: networks with a kind that was registered twice
/// are refused when they are built. Not while another thread builds a network.
void register_layer(const std::string& kind, LayerMaker make);

/// The layer of type custom that `spec` describes. InputError that names the known kinds when its
/// kind was not registered, Error when it was so twice.
std::unique_ptr<Layer> make_custom_layer(const LayerSpec& spec, const Shape& input);

}  // namespace quern

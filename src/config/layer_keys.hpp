// SPDX-License-Identifier: Apache-2.0
// The keys of an entry of network.layers, and that list as a whole.
#pragma once

#include <string>
#include <vector>

#include "config/key.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// All keys of a layer, in the order in which it is written.
const std::vector<Key<LayerSpec>>& layer_keys();

/// Name of the `number`-th layer (from 1) of a type whose recipe gives none: "conv1", "relu2".
std::string default_layer_name(LayerType type, int number);

/// The layer's name in the recipe, or the default that it will get; "" where neither is possible.
std::vector<std::string> layer_names(const toml::array& layers);

/// Reads an array of tables into `layers`, defaults filled in.
void read_layers(const toml::node& node, const ValueContext& context,
                 std::vector<LayerSpec>& layers);

/// An array of inline tables, one layer a line.
std::string write_layers(const std::vector<LayerSpec>& layers);

}  // namespace quern

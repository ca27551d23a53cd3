// SPDX-License-Identifier: Apache-2.0
// The keys of an entry of network.layers that is one layer.
#pragma once

#include <string>
#include <vector>

#include "config/key.hpp"
#include "spec/network_spec.hpp"

namespace quern {

inline constexpr std::size_t kMaxLayerName = 64;

/// All keys of a layer, in the order in which it is written.
const std::vector<Key<LayerSpec>>& layer_keys();

/// Name of the `number`-th layer (from 1) of a type whose recipe gives none: "conv1", "relu2".
std::string default_layer_name(LayerType type, int number);

/// Stores a string that could be the name of a layer.
bool read_layer_name(const toml::node& node, const ValueContext& context, std::string& name);

/// Appends the names of an array, and the way back.
void read_layer_names(const toml::node& node, const ValueContext& context,
                      std::vector<std::string>& names);
std::string layer_names_text(const std::vector<std::string>& names);

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// The list network.layers as a whole: names, and who reads whom.
#pragma once

#include <string>
#include <vector>

#include "config/key.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// The entry's name in the recipe, or the default that it will get; "" where neither is possible.
std::vector<std::string> layer_names(const toml::array& layers);

/// Reads an array of tables into `layers`, defaults filled in and blocks expanded, for samples of
/// shape `input`. Inputs are layers that stand before their readers.
void read_layers(const toml::node& node, const ValueContext& context, const Shape& input,
                 std::vector<LayerSpec>& layers);

/// An array of inline tables, one layer a line.
std::string write_layers(const std::vector<LayerSpec>& layers);

}  // namespace quern

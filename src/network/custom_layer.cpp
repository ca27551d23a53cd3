// SPDX-License-Identifier: Apache-2.0
#include "network/custom_layer.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/kind_registry.hpp"
#include "network/build_layer.hpp"

namespace quern {

namespace {

KindRegistry<LayerMaker>& registered_layers() {
  static KindRegistry<LayerMaker> layers("register_layer");
  return layers;
}

}  // namespace

void register_layer(const std::string& kind, LayerMaker make) {
  registered_layers().add(kind, std::move(make));
}

std::unique_ptr<Layer> make_custom_layer(const LayerSpec& spec, const Shape& input) {
  const LayerMaker& make = registered_layers().find("network.layers: " + describe(spec), spec.kind);
  std::unique_ptr<Layer> layer = make(spec, input);
  if (!layer || layer->name() != spec.name || !(layer->input_shape() == input)) {
    throw Error("register_layer: the maker of '" + spec.kind + "' was asked for a layer '" +
                spec.name + "' for inputs of shape " + to_string(input) + ", and made another");
  }
  return layer;
}

}  // namespace quern

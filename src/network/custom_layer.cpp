// SPDX-License-Identifier: Apache-2.0
#include "network/custom_layer.hpp"

#include <map>
#include <utility>

#include "base/error.hpp"
#include "network/build_layer.hpp"

namespace quern {

namespace {

std::map<std::string, LayerMaker>& makers() {
  static std::map<std::string, LayerMaker> known;
  return known;
}

std::string known_kinds() {
  std::string text;
  for (const auto& [kind, make] : makers()) text += (text.empty() ? "'" : ", '") + kind + "'";
  return text.empty() ? "none" : text;
}

}  // namespace

void register_layer(const std::string& kind, LayerMaker make) {
  if (!makers().emplace(kind, std::move(make)).second) {
    throw Error("register_layer: there is a layer '" + kind + "' already");
  }
}

std::unique_ptr<Layer> make_custom_layer(const LayerSpec& spec, const Shape& input) {
  const auto maker = makers().find(spec.kind);
  if (maker == makers().end()) {
    throw InputError("network.layers: " + describe(spec) + " is of kind '" + spec.kind +
                     "', which this program does not know (known: " + known_kinds() +
                     "; a C++ program registers kinds of its own)");
  }
  std::unique_ptr<Layer> layer = maker->second(spec, input);
  if (!layer || layer->name() != spec.name || !(layer->input_shape() == input)) {
    throw Error("register_layer: the maker of '" + spec.kind + "' was asked for a layer '" +
                spec.name + "' for inputs of shape " + to_string(input) + ", and made another");
  }
  return layer;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "network/custom_layer.hpp"

#include <map>
#include <utility>

#include "base/error.hpp"
#include "network/build_layer.hpp"

namespace quern {

namespace {

struct Maker {
  LayerMaker make;
  bool is_ambiguous = false;  // another was registered for the same kind
};

std::map<std::string, Maker>& makers() {
  static std::map<std::string, Maker> known;
  return known;
}

std::string known_kinds() {
  std::string text;
  for (const auto& [kind, maker] : makers()) text += (text.empty() ? "'" : ", '") + kind + "'";
  return text.empty() ? "none" : text;
}

}  // namespace

void register_layer(const std::string& kind, LayerMaker make) {
  const auto [maker, is_new] = makers().emplace(kind, Maker{std::move(make)});
  if (!is_new) maker->second.is_ambiguous = true;
}

std::unique_ptr<Layer> make_custom_layer(const LayerSpec& spec, const Shape& input) {
  const auto maker = makers().find(spec.kind);
  if (maker == makers().end()) {
    throw InputError("network.layers: " + describe(spec) + " is of kind '" + spec.kind +
                     "', which this program does not know (known: " + known_kinds() +
                     "; a C++ program registers kinds of its own)");
  }
  if (maker->second.is_ambiguous) {
    throw Error("network.layers: " + describe(spec) + " is of kind '" + spec.kind +
                "', which this program registers more than once (expected one call of "
                "register_layer for a kind)");
  }
  std::unique_ptr<Layer> layer = maker->second.make(spec, input);
  if (!layer || layer->name() != spec.name || !(layer->input_shape() == input)) {
    throw Error("register_layer: the maker of '" + spec.kind + "' was asked for a layer '" +
                spec.name + "' for inputs of shape " + to_string(input) + ", and made another");
  }
  return layer;
}

}  // namespace quern

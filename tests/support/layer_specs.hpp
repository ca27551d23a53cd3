// SPDX-License-Identifier: Apache-2.0
// Layers of networks for tests, named as a recipe would name them.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "spec/network_spec.hpp"

namespace quern::test {

inline LayerSpec linear(int features) {
  LayerSpec spec;
  spec.type = LayerType::linear;
  spec.features = features;
  return spec;
}

inline LayerSpec conv2d(int channels, int kernel, int stride = 1, int padding = 0) {
  LayerSpec spec;
  spec.type = LayerType::conv2d;
  spec.channels = channels;
  spec.kernel = kernel;
  spec.stride = stride;
  spec.padding = padding;
  return spec;
}

inline LayerSpec pool(LayerType type, int size, int stride = 0) {
  LayerSpec spec;
  spec.type = type;
  spec.size = size;
  spec.stride = stride > 0 ? stride : size;
  return spec;
}

inline LayerSpec dropout(double probability) {
  LayerSpec spec;
  spec.type = LayerType::dropout;
  spec.probability = probability;
  return spec;
}

inline LayerSpec simple(LayerType type) {
  LayerSpec spec;
  spec.type = type;
  return spec;
}

inline const LayerSpec relu = simple(LayerType::relu);
inline const LayerSpec tanh_layer = simple(LayerType::tanh);
inline const LayerSpec sigmoid = simple(LayerType::sigmoid);
inline const LayerSpec gelu = simple(LayerType::gelu);
inline const LayerSpec silu = simple(LayerType::silu);
inline const LayerSpec leaky_relu = simple(LayerType::leaky_relu);
inline const LayerSpec flatten = simple(LayerType::flatten);

/// `layer` that reads these and not the one before.
inline LayerSpec reading(LayerSpec layer, std::vector<std::string> inputs) {
  layer.inputs = std::move(inputs);
  return layer;
}

inline LayerSpec add(std::vector<std::string> inputs) {
  return reading(simple(LayerType::add), std::move(inputs));
}

inline LayerSpec concat(std::vector<std::string> inputs) {
  return reading(simple(LayerType::concat), std::move(inputs));
}

inline LayerSpec upsample(int factor) {
  LayerSpec spec;
  spec.type = LayerType::upsample;
  spec.factor = factor;
  return spec;
}

/// Layers are named "linear1", "relu1", "relu2", ...; layer i stands in line i + 1.
inline NetworkSpec network_of(const Shape& input, std::initializer_list<LayerSpec> layers) {
  NetworkSpec spec;
  spec.input = input;
  spec.layers = layers;
  std::map<LayerType, int> count;
  int line = 0;
  for (LayerSpec& layer : spec.layers) {
    layer.name = to_string(layer.type) + std::to_string(++count[layer.type]);
    layer.recipe_line = ++line;
  }
  return spec;
}

}  // namespace quern::test

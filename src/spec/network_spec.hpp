// SPDX-License-Identifier: Apache-2.0
// What a network is, as plain data: the recipe's [network] table after parsing.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "base/shape.hpp"

namespace quern {

enum class LayerType {
  linear,
  conv2d,
  max_pool2d,
  avg_pool2d,
  global_avg_pool,  ///< the mean of each channel, flat
  relu,
  tanh,
  sigmoid,
  gelu,
  dropout,
  flatten,
  add,
  custom,  ///< of a C++ program (network/custom_layer.hpp)
};

struct LayerSpec {
  LayerType type = LayerType::linear;
  /// Unique in the network. Default: "fc<n>" for linear, "conv<n>" for conv2d, "<type><n>" for the
  /// rest, n counting from 1 per type, as PyTorch users name them.
  std::string name;
  /// Names of the layers whose outputs it reads, all of them before it; empty: the one before.
  /// "input" is what the network reads, unless a layer has that name. add: at least two.
  std::vector<std::string> inputs = {};
  int features = 0;        ///< linear: output features
  int channels = 0;        ///< conv2d: output channels
  int kernel = 0;          ///< conv2d: kernel height and width
  int stride = 1;          ///< conv2d; pools: defaults to size when the recipe leaves it out
  int padding = 0;         ///< conv2d, pools
  bool bias = true;        ///< conv2d: adds one to each output channel
  int size = 0;            ///< pools: window height and width
  double probability = 0;  ///< dropout: probability that a unit is zeroed
  std::string kind = {};   ///< custom: the name it was registered under
  int recipe_line = 0;     ///< where the recipe states it, 0 when it does not

  /// The same layer, wherever it is stated.
  friend bool operator==(const LayerSpec& a, const LayerSpec& b) {
    return std::tie(a.type, a.name, a.inputs, a.features, a.channels, a.kernel, a.stride, a.padding,
                    a.bias, a.size, a.probability,
                    a.kind) == std::tie(b.type, b.name, b.inputs, b.features, b.channels, b.kernel,
                                        b.stride, b.padding, b.bias, b.size, b.probability, b.kind);
  }
};

enum class InitType {
  pytorch,  ///< PyTorch's default of each layer: U(-1/sqrt(fan_in), 1/sqrt(fan_in))
  normal,   ///< weights N(0, std), biases 0
  kaiming,  ///< convolutions N(0, sqrt(2 / fan_out)), everything else as pytorch
};

struct InitSpec {
  InitType type = InitType::pytorch;
  double std = 0.01;
  friend bool operator==(const InitSpec&, const InitSpec&) = default;
};

struct NetworkSpec {
  Shape input;
  std::vector<LayerSpec> layers;
  InitSpec init;
  friend bool operator==(const NetworkSpec&, const NetworkSpec&) = default;
};

/// The recipe's word for a layer type ("conv2d").
const char* to_string(LayerType type);

}  // namespace quern

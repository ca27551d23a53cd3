// SPDX-License-Identifier: Apache-2.0
// What a network is, as plain data: the recipe's [network] table after parsing.
#pragma once

#include <cstddef>
#include <string>
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
  silu,        ///< x sigmoid(x)
  leaky_relu,  ///< x, below 0 times a slope
  dropout,
  batch_norm,
  layer_norm,
  group_norm,
  upsample,  ///< each pixel several times, side by side and below one another
  flatten,
  add,
  concat,  ///< the channels of several outputs, one after the other
  custom,  ///< of a C++ program (network/custom_layer.hpp)
};

/// The recipe's word for a layer type ("conv2d").
const char* to_string(LayerType type);

/// Does a layer of this type read several outputs (LayerSpec::inputs)?
inline bool reads_several(LayerType type) {
  return type == LayerType::add || type == LayerType::concat;
}

/// Over what batch normalisation takes mean and variance while training.
enum class Statistics {
  global,   ///< the global batch, whatever the number of ranks
  block,    ///< each micro-block by itself
  running,  ///< the running averages, which stay as they begin
};

/// Where the recipe states something. The same thing in another line is the same.
struct RecipeLine {
  int number = 0;  ///< from 1; 0: nowhere
  RecipeLine& operator=(int line) { return number = line, *this; }
  operator int() const { return number; }
  friend bool operator==(const RecipeLine&, const RecipeLine&) { return true; }
};

/// Different lr_factors of a network: those of its layers, among them 1.
inline constexpr std::size_t kMaxLrFactors = 128;

struct LayerSpec {
  LayerType type = LayerType::linear;
  /// Unique in the network. Recipes' default, which a program states itself: "fc<n>" for linear,
  /// "conv<n>" for conv2d, "bn<n>" for batch_norm, "ln<n>" for layer_norm, "gn<n>" for
  /// group_norm, "<type><n>" for the rest, n counting from 1 per type, as PyTorch users name them.
  std::string name = {};
  /// Names of the layers whose outputs it reads, all of them before it; empty: the one before.
  /// "input" is what the network reads, unless a layer has that name. add, concat: at
  /// least two.
  std::vector<std::string> inputs = {};
  int features = 0;              ///< linear: output features
  int channels = 0;              ///< conv2d: output channels
  int kernel = 0;                ///< conv2d: kernel height and width
  int stride = 1;                ///< conv2d; pools: defaults to size when the recipe leaves it out
  int padding = 0;               ///< conv2d, pools
  bool bias = true;              ///< linear, conv2d: adds one to each output unit or channel
  int groups = 0;                ///< group_norm: sets of channels
  int size = 0;                  ///< pools: window height and width
  int factor = 0;                ///< upsample: times the height and the width
  double probability = 0;        ///< dropout: probability that a unit is zeroed
  double negative_slope = 0.01;  ///< leaky_relu
  double momentum = 0.1;         ///< batch_norm: weight of a batch in the running statistics
  double eps = 1e-5;             ///< normalisations: added to the variance
  Statistics statistics = Statistics::global;  ///< batch_norm
  std::string kind = {};                       ///< custom: the name it was registered under
  bool trainable = true;  ///< layers with parameters, but custom: false: they stay as they are
  double lr_factor = 1;   ///< layers with parameters: times the learning rate
  RecipeLine recipe_line = {};
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

enum class InitType {
  pytorch,     ///< PyTorch's default of each layer: U(-1/sqrt(fan_in), 1/sqrt(fan_in))
  normal,      ///< weights N(0, std), biases 0
  kaiming,     ///< convolutions N(0, sqrt(2 / fan_out)), everything else as pytorch
  checkpoint,  ///< out of a file (state/initial_weights.hpp), what it does not give as pytorch
};

struct InitSpec {
  InitType type = InitType::pytorch;
  double std = 0.01;
  // checkpoint:
  std::string file = {};                 ///< of Quern, or safetensors
  std::vector<std::string> only = {};    ///< layers, or the first parts of their names; empty: all
  std::vector<std::string> rename = {};  ///< "OLD=NEW" (state/match_weights.hpp)
  friend bool operator==(const InitSpec&, const InitSpec&) = default;
};

struct NetworkSpec {
  Shape input = {};
  std::vector<LayerSpec> layers = {};
  InitSpec init = {};
  friend bool operator==(const NetworkSpec&, const NetworkSpec&) = default;
};

}  // namespace quern

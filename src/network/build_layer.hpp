// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "layers/layer.hpp"
#include "spec/network_spec.hpp"

namespace quern {

/// The layer that `spec` describes, for inputs of shape `input`. `index` is its place in the
/// network (the stream of its random numbers). InputError with layer and shapes when they do not
/// fit or are too large to index. Not for flatten, which has no layer.
std::unique_ptr<Layer> build_layer(const LayerSpec& spec, const Shape& input, int index);

/// The layers of `spec` in the shapes that have to be computed: where a pool leaves the last rows
/// or columns of its input unread, the convolution in front of it does without them (LeNet on 28 x
/// 28: a fifth of all work). Bits do not change by it. Null for flatten. `full_macs`: per layer,
/// the multiply-adds of a sample if everything were computed.
struct BuiltLayers {
  std::vector<std::unique_ptr<Layer>> layers;
  std::vector<std::int64_t> full_macs;
};
BuiltLayers build_layers(const NetworkSpec& spec);

/// "layer 'fc1' (linear, recipe line 12)"
std::string describe(const LayerSpec& spec);

}  // namespace quern

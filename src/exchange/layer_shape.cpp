// SPDX-License-Identifier: Apache-2.0
#include "exchange/layer_shape.hpp"

namespace quern {

Shape output_shape(const LayerSpec& layer, const Shape& input) {
  const bool is_conv = layer.type == LayerType::conv2d;
  const auto windows = [&](int pixels) {
    return (pixels + 2 * layer.padding - (is_conv ? layer.kernel : layer.size)) / layer.stride + 1;
  };
  switch (layer.type) {
    case LayerType::linear:
      return Shape{layer.features};
    case LayerType::conv2d:
    case LayerType::max_pool2d:
    case LayerType::avg_pool2d:
      return {is_conv ? layer.channels : input.channels, windows(input.height),
              windows(input.width)};
    case LayerType::global_avg_pool:
      return Shape{input.channels};
    case LayerType::upsample:
      return {input.channels, input.height * layer.factor, input.width * layer.factor};
    case LayerType::flatten:
      return Shape{input.units()};
    default:
      return input;
  }
}

}  // namespace quern

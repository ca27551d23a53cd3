// SPDX-License-Identifier: Apache-2.0
#include "network/build_layer.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "layers/batch_norm.hpp"
#include "layers/conv2d.hpp"
#include "layers/dropout.hpp"
#include "layers/elementwise.hpp"
#include "layers/global_avg_pool.hpp"
#include "layers/group_norm.hpp"
#include "layers/layer_norm.hpp"
#include "layers/linear.hpp"
#include "layers/pool2d.hpp"
#include "layers/upsample.hpp"
#include "network/custom_layer.hpp"

namespace quern {

namespace {

[[noreturn]] void refuse(const LayerSpec& spec, const Shape& input, const std::string& why) {
  throw InputError("network.layers: " + describe(spec) + " does not fit its input " +
                   to_string(input) + ": " + why);
}

void check_window(const LayerSpec& spec, const Shape& input, int window, int padding) {
  if (window > input.height + 2 * padding || window > input.width + 2 * padding) {
    if (input.is_flat())
      refuse(spec, input,
             "expected an image [channels, height, width] (of network.input, and no flatten layer "
             "before)");
    refuse(spec, input,
           "a window of " + std::to_string(window) + " x " + std::to_string(window) +
               " is larger than the image" + (padding > 0 ? " with its padding" : "") +
               " (expected at least " + std::to_string(window - 2 * padding) + " pixels a side)");
  }
}

// Every window has to see a pixel.
void check_pool(const LayerSpec& spec, const Shape& input) {
  if (2 * spec.padding > spec.size) {
    throw InputError("network.layers: " + describe(spec) + " has a padding of " +
                     std::to_string(spec.padding) + " (expected at most " +
                     std::to_string(spec.size / 2) + ", half of its window of " +
                     std::to_string(spec.size) + ")");
  }
  check_window(spec, input, spec.size, spec.padding);
}

}  // namespace

std::string describe(const LayerSpec& spec) {
  std::string text = "layer '" + spec.name + "' (" + to_string(spec.type);
  if (spec.recipe_line > 0) text += ", recipe line " + std::to_string(spec.recipe_line);
  return text + ")";
}

namespace {

void check_groups(const LayerSpec& spec, const Shape& input) {
  if (input.channels % spec.groups != 0) {
    refuse(spec, input,
           "its groups = " + std::to_string(spec.groups) + " do not divide the " +
               std::to_string(input.channels) + " channels");
  }
}

// Kernels index the values of a sample with int.
void check_size(const LayerSpec& spec, const std::string& what, const Shape& shape) {
  if (!shape.is_too_large()) return;
  throw InputError("network.layers: " + describe(spec) + ": " + what + " " + to_string(shape) +
                   " is too large (expected at most " + std::to_string(kMaxUnits) + " values)");
}

// Before the product is taken as an int.
void check_upsampled(const LayerSpec& spec, const Shape& input) {
  const std::int64_t most = kMaxUnits / std::max(input.height, input.width);
  if (spec.factor <= most) return;
  refuse(spec, input,
         "an image " + std::to_string(spec.factor) +
             " times as high and wide is too large "
             "(expected at most " +
             std::to_string(kMaxUnits) + " values)");
}

std::unique_ptr<Layer> make_layer(const LayerSpec& spec, const Shape& input, int index,
                                  const KernelChoice& choice) {
  switch (spec.type) {
    case LayerType::linear:
      if (!input.is_flat()) {
        refuse(spec, input, "expected a flat input; put a flatten layer before it");
      }
      return std::make_unique<Linear>(spec, input, choice);
    case LayerType::conv2d:
      check_window(spec, input, spec.kernel, spec.padding);
      check_size(spec, "the padded input",
                 {input.channels, input.height + 2 * spec.padding, input.width + 2 * spec.padding});
      return std::make_unique<Conv2d>(spec, input, choice);
    case LayerType::max_pool2d:
    case LayerType::avg_pool2d:
      check_pool(spec, input);
      return std::make_unique<Pool2d>(spec, input);
    case LayerType::global_avg_pool:
      return std::make_unique<GlobalAvgPool>(spec, input);
    case LayerType::relu:
    case LayerType::tanh:
    case LayerType::sigmoid:
    case LayerType::gelu:
    case LayerType::silu:
    case LayerType::leaky_relu:
      return make_elementwise(spec, input);
    case LayerType::dropout:
      return std::make_unique<Dropout>(spec, input, index);
    case LayerType::batch_norm:
      return std::make_unique<BatchNorm>(spec, input, choice);
    case LayerType::layer_norm:
      return std::make_unique<LayerNorm>(spec, input);
    case LayerType::group_norm:
      check_groups(spec, input);
      return std::make_unique<GroupNorm>(spec, input);
    case LayerType::custom:
      return make_custom_layer(spec, input);
    case LayerType::upsample:
      check_upsampled(spec, input);
      return std::make_unique<Upsample>(spec, input);
    case LayerType::flatten:
    case LayerType::add:
    case LayerType::concat:
      break;
  }
  throw Error("internal error: no layer for " + describe(spec));
}

}  // namespace

std::unique_ptr<Layer> build_layer(const LayerSpec& spec, const Shape& input, int index,
                                   const KernelChoice& choice) {
  std::unique_ptr<Layer> layer = make_layer(spec, input, index, choice);
  check_size(spec, "the output", layer->output_shape());
  return layer;
}

std::unique_ptr<Layer> build_part_of_conv2d(const LayerSpec& spec, const Shape& input,
                                            const Shape& output, const KernelChoice& choice) {
  return std::make_unique<Conv2d>(spec, input, output, choice);
}

std::unique_ptr<Layer> build_sliced_layer(const LayerSpec& spec, const Shape& input,
                                          const Shape& output, const TensorSlices& slices,
                                          const KernelChoice& choice) {
  const bool is_linear = spec.type == LayerType::linear;
  if (slices.count < 2 || (!is_linear && spec.type != LayerType::conv2d)) return nullptr;
  std::vector<int> bounds = slice_bounds(output.channels, is_linear ? kLanes : 1, slices.count);
  if (bounds.empty()) return nullptr;
  const auto make = [&](int channels) -> std::unique_ptr<Layer> {
    LayerSpec slice = spec;
    slice.features = slice.channels = channels;
    if (is_linear) return std::make_unique<Linear>(slice, input, choice);
    return build_part_of_conv2d(slice, input, {channels, output.height, output.width}, choice);
  };
  return std::make_unique<SlicedLayer>(spec.name, input, output, slices, std::move(bounds), make);
}

}  // namespace quern

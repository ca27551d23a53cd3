// SPDX-License-Identifier: Apache-2.0
#include "exchange/onnx_nodes.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"
#include "exchange/layer_shape.hpp"

namespace quern {

namespace {

// Names of layers have no tensors of these names, so that nothing meets.
std::string output_of(const std::string& layer) {
  return layer + ".out";
}

constexpr const char* kImageAxes = "quern.image_axes";
constexpr const char* kChannelAxes = "quern.channel_axes";
constexpr const char* kHalf = "quern.half";
constexpr const char* kOne = "quern.one";
constexpr const char* kSqrtHalf = "quern.sqrt_half";

}  // namespace

std::vector<std::int64_t> OnnxValue::axes() const {
  if (!has_image_axes) return {shape.channels};
  return {shape.channels, shape.height, shape.width};
}

OnnxNodes::OnnxNodes(OnnxGraph& graph, const OnnxValue& input) : graph_(graph), last_(input) {
  values_["input"] = input;
}

const OnnxValue& OnnxNodes::input_of(const LayerSpec& layer, std::size_t i) const {
  return layer.inputs.empty() ? last_ : values_.at(layer.inputs.at(i));
}

OnnxValue OnnxNodes::as_image(const OnnxValue& value, const std::string& layer) {
  if (value.has_image_axes) return value;
  if (!std::exchange(has_axes_, true))
    graph_.add_initializer(kImageAxes, std::array<std::int64_t, 2>{2, 3});
  const std::string name = layer + ".image";
  graph_.add_node("Unsqueeze", name, {value.name, kImageAxes}, name);
  return {name, value.shape, true};
}

OnnxValue OnnxNodes::as_flat(const OnnxValue& value, const std::string& layer) {
  if (!value.has_image_axes) return value;
  const std::string name = layer + ".flat";
  graph_.add_node("Flatten", name, {value.name}, name, {{"axis", std::int64_t{1}}});
  return {name, Shape{value.shape.units()}, false};
}

OnnxValue OnnxNodes::node(const std::string& type, const LayerSpec& layer, const OnnxValue& x,
                          const std::vector<std::string>& parameters,
                          const OnnxAttributes& attributes) {
  std::vector<std::string> inputs = {x.name};
  for (const std::string& parameter : parameters) inputs.push_back(layer.name + "." + parameter);
  graph_.add_node(type, layer.name, inputs, output_of(layer.name), attributes);
  return {output_of(layer.name), output_shape(layer, x.shape), x.has_image_axes};
}

void OnnxNodes::flatten_pixel() {
  if (last_.shape.is_flat()) last_ = as_flat(last_, "output");
}

void OnnxNodes::by_channels(const char* type, const std::string& name,
                            const std::string& initializer, const std::vector<double>& numbers) {
  const std::vector<float> values(numbers.begin(), numbers.end());
  std::vector<std::int64_t> shape = {std::ssize(values)};
  if (last_.has_image_axes) shape.insert(shape.end(), {1, 1});
  graph_.add_initializer(initializer, shape, values);
  graph_.add_node(type, name, {last_.name, initializer}, name);
  last_.name = name;
}

void OnnxNodes::add(const NormalizeSpec& normalize) {
  by_channels("Sub", "input.mean", "quern.mean", normalize.mean);
  by_channels("Div", "input.std", "quern.std", normalize.std);
  values_["input"] = last_;
}

void OnnxNodes::add_probabilities() {
  graph_.add_node("Sigmoid", "probabilities", {last_.name}, "probabilities");
  last_.name = "probabilities";
}

void OnnxNodes::add_way_back(const NormalizeSpec& normalize) {
  by_channels("Mul", "target.std", "quern.target_std", normalize.std);
  by_channels("Add", "target.mean", "quern.target_mean", normalize.mean);
}

void OnnxNodes::add(const LayerSpec& layer) {
  if (layer.type == LayerType::add)
    last_ = sum(layer);
  else if (layer.type == LayerType::concat)
    last_ = concat(layer);
  else
    last_ = compute(layer, input_of(layer, 0));
  values_[layer.name] = last_;
}

OnnxValue OnnxNodes::sum(const LayerSpec& layer) {
  OnnxValue total;
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    const std::string suffix = "." + std::to_string(i);
    OnnxValue value = input_of(layer, i);
    if (value.shape.is_flat()) value = as_flat(value, layer.name + suffix);
    if (i == 0) {
      total = value;
      continue;
    }
    const bool is_last = i + 1 == layer.inputs.size();
    const std::string name = is_last ? output_of(layer.name) : layer.name + ".sum" + suffix;
    graph_.add_node("Add", is_last ? layer.name : name, {total.name, value.name}, name);
    total.name = name;
  }
  return total;
}

OnnxValue OnnxNodes::concat(const LayerSpec& layer) {
  OnnxValue all = input_of(layer, 0);
  all.shape.channels = 0;
  all.has_image_axes = !all.shape.is_flat();
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
    OnnxValue value = input_of(layer, i);
    if (value.shape.is_flat()) value = as_flat(value, layer.name + "." + std::to_string(i));
    parts.push_back(value.name);
    all.shape.channels += value.shape.channels;
  }
  all.name = output_of(layer.name);
  graph_.add_node("Concat", layer.name, parts, all.name, {{"axis", std::int64_t{1}}});
  return all;
}

// The defaults of Resize: the nearest pixel, of centres. With a whole factor no two are as near.
OnnxValue OnnxNodes::upsample(const LayerSpec& layer, const OnnxValue& x) {
  const OnnxValue image = as_image(x, layer.name);
  const auto factor = static_cast<float>(layer.factor);
  const std::string scales = layer.name + ".scales";
  graph_.add_initializer(scales, {4}, std::array<float, 4>{1, 1, factor, factor});
  graph_.add_node("Resize", layer.name, {image.name, "", scales}, output_of(layer.name));
  return {output_of(layer.name), output_shape(layer, x.shape), true};
}

// Output sizes are rounded down, as ONNX does by default; an average counts zeros of the border.
OnnxValue OnnxNodes::window(const LayerSpec& layer, const OnnxValue& x) {
  const bool is_conv = layer.type == LayerType::conv2d;
  const std::int64_t size = is_conv ? layer.kernel : layer.size;
  const std::int64_t border = layer.padding;
  const std::int64_t stride = layer.stride;
  OnnxAttributes attributes = {{"kernel_shape", std::vector{size, size}},
                               {"pads", std::vector{border, border, border, border}},
                               {"strides", std::vector{stride, stride}}};
  if (layer.type == LayerType::avg_pool2d)
    attributes.emplace_back("count_include_pad", std::int64_t{1});
  std::vector<std::string> parameters;
  if (is_conv) parameters.emplace_back("weight");
  if (is_conv && layer.bias) parameters.emplace_back("bias");
  const char* type = is_conv                               ? "Conv"
                     : layer.type == LayerType::max_pool2d ? "MaxPool"
                                                           : "AveragePool";
  return node(type, layer, as_image(x, layer.name), parameters, attributes);
}

// x / 2 (1 + erf(x / sqrt(2))): opset 17 has no word for it.
OnnxValue OnnxNodes::gelu(const LayerSpec& layer, const OnnxValue& x) {
  if (!std::exchange(has_scalars_, true)) {
    for (const auto& [name, value] :
         {std::pair(kHalf, 0.5f), {kOne, 1.0f}, {kSqrtHalf, 0.70710678118654752f}})
      graph_.add_initializer(name, {}, std::span(&value, 1));
  }
  const auto step = [&](const char* type, const std::string& name,
                        const std::vector<std::string>& inputs) {
    graph_.add_node(type, layer.name + name, inputs, layer.name + name);
    return layer.name + name;
  };
  const std::string scaled = step("Mul", ".scaled", {x.name, kSqrtHalf});
  const std::string erf = step("Erf", ".erf", {scaled});
  const std::string twice = step("Add", ".twice", {erf, kOne});
  const std::string part = step("Mul", ".part", {twice, kHalf});
  graph_.add_node("Mul", layer.name, {x.name, part}, output_of(layer.name));
  return {output_of(layer.name), x.shape, x.has_image_axes};
}

// Sets of channels as the channels of an instance normalisation, for opset 17 has no other word for
// it; weight and bias are of the channels.
OnnxValue OnnxNodes::group_norm(const LayerSpec& layer, const OnnxValue& x) {
  const std::string& name = layer.name;
  const std::int64_t sets = layer.groups;
  std::vector<std::int64_t> shape = x.axes();
  shape.insert(shape.begin(), 0);  // as many samples
  graph_.add_initializer(name + ".sets", std::array<std::int64_t, 3>{0, sets, -1});
  graph_.add_initializer(name + ".shape", shape);
  graph_.add_initializer(name + ".ones", {sets},
                         std::vector<float>(static_cast<std::size_t>(sets), 1.0f));
  graph_.add_initializer(name + ".zeros", {sets},
                         std::vector<float>(static_cast<std::size_t>(sets), 0.0f));
  const auto step = [&](const char* type, const std::string& suffix,
                        const std::vector<std::string>& inputs,
                        const OnnxAttributes& attributes = {}) {
    graph_.add_node(type, name + suffix, inputs, name + suffix, attributes);
    return name + suffix;
  };
  const auto of_channels = [&](const std::string& parameter, const std::string& suffix) {
    if (!x.has_image_axes) return name + parameter;
    if (!std::exchange(has_channel_axes_, true))
      graph_.add_initializer(kChannelAxes, std::array<std::int64_t, 2>{1, 2});
    return step("Unsqueeze", suffix, {name + parameter, kChannelAxes});
  };
  const std::string in_sets = step("Reshape", ".in_sets", {x.name, name + ".sets"});
  const std::string alike =
      step("InstanceNormalization", ".alike", {in_sets, name + ".ones", name + ".zeros"},
           {{"epsilon", static_cast<float>(layer.eps)}});
  const std::string normalized = step("Reshape", ".normalized", {alike, name + ".shape"});
  const std::string scaled = step("Mul", ".scaled", {normalized, of_channels(".weight", ".scale")});
  graph_.add_node("Add", name, {scaled, of_channels(".bias", ".shift")}, output_of(name));
  return {output_of(name), x.shape, x.has_image_axes};
}

OnnxValue OnnxNodes::compute(const LayerSpec& layer, const OnnxValue& x) {
  const auto eps = static_cast<float>(layer.eps);
  switch (layer.type) {
    case LayerType::linear:
      return node("Gemm", layer, as_flat(x, layer.name),
                  layer.bias ? std::vector<std::string>{"weight", "bias"}
                             : std::vector<std::string>{"weight"},
                  {{"transB", std::int64_t{1}}});
    case LayerType::conv2d:
    case LayerType::max_pool2d:
    case LayerType::avg_pool2d:
      return window(layer, x);
    case LayerType::global_avg_pool: {
      const OnnxValue image = as_image(x, layer.name);
      const std::string mean = layer.name + ".mean";
      graph_.add_node("GlobalAveragePool", mean, {image.name}, mean);
      graph_.add_node("Flatten", layer.name, {mean}, output_of(layer.name),
                      {{"axis", std::int64_t{1}}});
      return {output_of(layer.name), output_shape(layer, x.shape), false};
    }
    case LayerType::relu:
      return node("Relu", layer, x, {}, {});
    case LayerType::tanh:
      return node("Tanh", layer, x, {}, {});
    case LayerType::sigmoid:
      return node("Sigmoid", layer, x, {}, {});
    case LayerType::gelu:
      return gelu(layer, x);
    case LayerType::silu: {
      const std::string gate = layer.name + ".gate";
      graph_.add_node("Sigmoid", gate, {x.name}, gate);
      graph_.add_node("Mul", layer.name, {x.name, gate}, output_of(layer.name));
      return {output_of(layer.name), x.shape, x.has_image_axes};
    }
    case LayerType::leaky_relu:
      return node("LeakyRelu", layer, x, {}, {{"alpha", static_cast<float>(layer.negative_slope)}});
    case LayerType::dropout:
      return x;  // evaluation passes everything on
    case LayerType::batch_norm:
      return node("BatchNormalization", layer, x, {"weight", "bias", "running_mean", "running_var"},
                  {{"epsilon", eps}});
    case LayerType::layer_norm: {
      // The weights have the axes of the layer's input in the recipe: none of 1 x 1 images.
      const OnnxValue from = x.shape.is_flat() ? as_flat(x, layer.name) : x;
      return node("LayerNormalization", layer, from, {"weight", "bias"},
                  {{"axis", std::int64_t{1}}, {"epsilon", eps}});
    }
    case LayerType::group_norm:
      return group_norm(layer, x);
    case LayerType::upsample:
      return upsample(layer, x);
    case LayerType::flatten: {
      if (!x.has_image_axes) return x;
      OnnxValue y = node("Flatten", layer, x, {}, {{"axis", std::int64_t{1}}});
      y.has_image_axes = false;
      return y;
    }
    case LayerType::add:
    case LayerType::concat:
    case LayerType::custom:
      break;
  }
  throw InputError("layer '" + layer.name + "' of type \"" + to_string(layer.type) +
                   "\" cannot be exported to ONNX (expected one of Quern's own layers)");
}

}  // namespace quern

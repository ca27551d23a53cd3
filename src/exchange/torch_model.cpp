// SPDX-License-Identifier: Apache-2.0
#include "exchange/torch_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/version.hpp"
#include "exchange/layer_shape.hpp"

namespace quern {

namespace {

/// What a layer puts out, and the variable of forward() that holds it.
struct Value {
  std::string variable;
  Shape shape;
  bool has_image_axes = false;  // [batch, C, H, W], of a flat value perhaps [batch, C, 1, 1]
};

/// A string of Python.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string shape_of(const Shape& shape, bool is_image) {
  return is_image ? fmt::format("[{}, {}, {}]", shape.channels, shape.height, shape.width)
                  : fmt::format("[{}]", shape.channels);
}

/// The lines of __init__ and of forward, layer by layer.
class Writer {
 public:
  Writer(const Recipe& recipe, const std::string& input)
      : network_(recipe.network),
        normalize_(recipe.data.normalize),
        normalize_targets_(recipe.data.normalize_targets),
        reads_images_(input == "images"),
        puts_out_probabilities_(recipe.loss.type == LossType::binary_cross_entropy) {
    const auto& layers = network_.layers;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::string before = i == 0 ? "input" : layers[i - 1].name;
      for (const std::string& name : layers[i].inputs)
        if (name != before || reads_several(layers[i].type)) is_kept_.insert(name);
    }
  }

  void write() {
    Value x{"x", network_.input, !network_.input.is_flat()};
    take_bytes();
    if (normalize_.type == NormalizeType::given) normalize(x);
    keep("input", x);
    for (const LayerSpec& layer : network_.layers) {
      if (layer.type == LayerType::add) {
        x = sum(layer);
      } else if (layer.type == LayerType::concat) {
        x = concat(layer);
      } else {
        const auto named = layer.inputs.empty() ? values_.end() : values_.find(layer.inputs[0]);
        x = compute(layer, named == values_.end() ? x : named->second);
      }
      keep(layer.name, x);
    }
    if (x.has_image_axes && x.shape.is_flat()) {  // one pixel
      line(as_flat(x));
      x.has_image_axes = false;
    }
    if (puts_out_probabilities_) line("torch.sigmoid(x)");
    if (normalize_targets_.type != NormalizeType::given) return;
    add_numbers("target_", normalize_targets_, x);
    line("x * self.quern_target_std + self.quern_target_mean");
  }

  std::string modules;
  std::string forward;

 private:
  void line(const std::string& value) { forward += fmt::format("        x = {}\n", value); }

  /// PyTorch would compute with them as they are, 255 times too large.
  void take_bytes() {
    forward += "        if x.dtype == torch.uint8:\n";
    forward +=
        reads_images_
            ? "            x = x / 255  # images were bytes in training as well\n"
            : "            raise TypeError(\"uint8 inputs, expected floats on the scale of the "
              "training data\")\n";
  }

  /// Where others than the next layer read it.
  void keep(const std::string& name, Value& x) {
    if (is_kept_.count(name) == 0) return;
    values_[name] = x;
    values_[name].variable = fmt::format("y{}", values_.size());
    forward += fmt::format("        {} = x  # {}\n", values_[name].variable, name);
  }

  std::string as_flat(const Value& x) const {
    return x.has_image_axes ? fmt::format("torch.flatten({}, 1)", x.variable) : x.variable;
  }
  std::string as_image(const Value& x) const {
    return x.has_image_axes ? x.variable : fmt::format("{}[:, :, None, None]", x.variable);
  }

  Value sum(const LayerSpec& layer) {
    const Value first = values_.at(layer.inputs[0]);
    std::string text;
    for (const std::string& name : layer.inputs) {
      const Value& value = values_.at(name);
      text +=
          (text.empty() ? "" : " + ") + (value.shape.is_flat() ? as_flat(value) : value.variable);
    }
    line(text);
    return {"x", first.shape, first.has_image_axes && !first.shape.is_flat()};
  }

  Value concat(const LayerSpec& layer) {
    Shape shape = values_.at(layer.inputs[0]).shape;
    shape.channels = 0;
    std::vector<std::string> parts;
    for (const std::string& name : layer.inputs) {
      const Value& value = values_.at(name);
      parts.push_back(value.shape.is_flat() ? as_flat(value) : value.variable);
      shape.channels += value.shape.channels;
    }
    line(fmt::format("torch.cat([{}], 1)", fmt::join(parts, ", ")));
    return {"x", shape, !shape.is_flat()};
  }

  Value module(const LayerSpec& layer, const std::string& input, bool is_image, const Value& x,
               const std::string& constructor) {
    modules += fmt::format("        self.put({}, nn.{}){}\n", quoted(layer.name), constructor,
                           layer.trainable ? "" : ".requires_grad_(False)");
    line(fmt::format("self.layer({})({})", quoted(layer.name), input));
    return {"x", output_shape(layer, x.shape), is_image};
  }

  Value pool(const LayerSpec& layer, const Value& x) {
    line(fmt::format("functional.{}({}, {}, stride={}, padding={})",
                     layer.type == LayerType::max_pool2d ? "max_pool2d" : "avg_pool2d", as_image(x),
                     layer.size, layer.stride, layer.padding));
    return {"x", output_shape(layer, x.shape), true};
  }

  Value apply(const LayerSpec& layer, const Value& x, const std::string& call) {
    line(call);
    return {"x", output_shape(layer, x.shape), x.has_image_axes};
  }

  Value compute(const LayerSpec& layer, const Value& x) {
    const Shape& shape = x.shape;
    switch (layer.type) {
      case LayerType::linear:
        return module(layer, as_flat(x), false, x,
                      fmt::format("Linear({}, {}{})", shape.units(), layer.features,
                                  layer.bias ? "" : ", bias=False"));
      case LayerType::conv2d:
        return module(layer, as_image(x), true, x,
                      fmt::format("Conv2d({}, {}, {}, stride={}, padding={}, bias={})",
                                  shape.channels, layer.channels, layer.kernel, layer.stride,
                                  layer.padding, layer.bias ? "True" : "False"));
      case LayerType::batch_norm:
        return module(layer, x.variable, x.has_image_axes, x,
                      fmt::format("BatchNorm{}d({}, eps={}, momentum={})", x.has_image_axes ? 2 : 1,
                                  shape.channels, layer.eps, layer.momentum));
      case LayerType::layer_norm: {
        const bool is_image = !shape.is_flat();
        return module(layer, is_image ? x.variable : as_flat(x), is_image, x,
                      fmt::format("LayerNorm({}, eps={})", shape_of(shape, is_image), layer.eps));
      }
      case LayerType::group_norm:
        return module(
            layer, x.variable, x.has_image_axes, x,
            fmt::format("GroupNorm({}, {}, eps={})", layer.groups, shape.channels, layer.eps));
      case LayerType::max_pool2d:
      case LayerType::avg_pool2d:
        return pool(layer, x);
      case LayerType::global_avg_pool:
        line(fmt::format("torch.flatten(functional.adaptive_avg_pool2d({}, 1), 1)", as_image(x)));
        return {"x", output_shape(layer, shape), false};
      case LayerType::upsample:
        line(fmt::format("functional.interpolate({}, scale_factor={}, mode=\"nearest\")",
                         as_image(x), layer.factor));
        return {"x", output_shape(layer, shape), true};
      case LayerType::flatten:
        line(as_flat(x));
        return {"x", output_shape(layer, shape), false};
      case LayerType::relu:
      case LayerType::tanh:
      case LayerType::sigmoid:
        return apply(layer, x, fmt::format("torch.{}({})", to_string(layer.type), x.variable));
      case LayerType::gelu:
      case LayerType::silu:
        return apply(layer, x, fmt::format("functional.{}({})", to_string(layer.type), x.variable));
      case LayerType::leaky_relu:
        return apply(
            layer, x,
            fmt::format("functional.leaky_relu({}, {})", x.variable, layer.negative_slope));
      case LayerType::dropout:
        return apply(layer, x,
                     fmt::format("functional.dropout({}, {}, self.training)", x.variable,
                                 layer.probability));
      case LayerType::add:
      case LayerType::concat:
      case LayerType::custom:
        break;
    }
    throw InputError("layer '" + layer.name + "' of type \"" + to_string(layer.type) +
                     "\" cannot be exported to PyTorch (expected one of Quern's own layers)");
  }

  void normalize(const Value& x) {
    add_numbers("", normalize_, x);
    line("(x - self.quern_mean) / self.quern_std");
  }

  /// Buffers that a state_dict does not hold.
  void add_numbers(const char* prefix, const NormalizeSpec& spec, const Value& x) {
    const auto buffer = [&](const char* name, const std::vector<double>& values) {
      modules += fmt::format(
          "        self.register_buffer(\"quern_{}{}\", torch.tensor([{:.9g}]){}, "
          "persistent=False)\n",
          prefix, name, fmt::join(values, ", "), x.has_image_axes ? ".reshape(-1, 1, 1)" : "");
    };
    buffer("mean", spec.mean);
    buffer("std", spec.std);
  }

  const NetworkSpec& network_;
  const NormalizeSpec& normalize_;
  const NormalizeSpec& normalize_targets_;
  bool reads_images_;
  bool puts_out_probabilities_;
  std::set<std::string> is_kept_;
  std::map<std::string, Value> values_;
};

// {0} name of the recipe, {1} version, {2} shape of a sample, {3} modules, {4} forward, {5} and {6}
// weights, {7} what else x may be.
constexpr const char* kFile = R"py(# The network of the recipe {0}, written by quern {1}.
#
#     network = load({6})
#     prediction = network(x)  # x: floats [batch, {2}]{7}
import json
import pathlib
import struct

import torch
from torch import nn
from torch.nn import functional


class Network(nn.Module):
    def __init__(self):
        super().__init__()
{3}
    def put(self, name, module):
        """"layer1.0.conv1" becomes conv1 of 0 of layer1."""
        *folders, last = name.split(".")
        owner = self
        for folder in folders:
            owner = owner._modules.setdefault(folder, nn.Module())
        owner._modules[last] = module
        return module

    def layer(self, name):
        module = self
        for part in name.split("."):
            module = module._modules[part]
        return module

    def forward(self, x):
{4}        return x


def read_safetensors(path):
    """The tensors of a file of float32, by name."""
    content = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header, begin = json.loads(content[8:8 + length]), 8 + length
    tensors = {{}}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"{{path}}: {{name}} is of type {{entry['dtype']}}, expected F32")
        first, end = entry["data_offsets"]
        values = bytearray(content[begin + first:begin + end])
        tensors[name] = torch.frombuffer(values, dtype=torch.float32).reshape(entry["shape"])
    return tensors


def load(weights{5}):
    """The network with the weights of a safetensors file, ready to predict."""
    network = Network()
    missing, unexpected = network.load_state_dict(read_safetensors(weights), strict=False)
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]
    if missing or unexpected:
        raise ValueError(f"{{weights}} lacks {{missing}}, and has {{unexpected}} besides")
    return network.eval()
)py";

}  // namespace

std::string torch_model(const Recipe& recipe, const std::string& weights,
                        const std::string& input) {
  const Shape& sample = recipe.network.input;
  Writer writer(recipe, input);
  writer.write();
  const std::string shape = shape_of(sample, !sample.is_flat());
  const std::string beside =
      weights.empty() ? "" : "=pathlib.Path(__file__).with_name(" + quoted(weights) + ")";
  return fmt::format(
      fmt::runtime(kFile), quoted(recipe.name), version(), shape.substr(1, shape.size() - 2),
      writer.modules, writer.forward, beside, weights.empty() ? "\"model.safetensors\"" : "",
      input == "images" ? " between 0 and 1, or uint8, which forward divides by 255" : "");
}

}  // namespace quern

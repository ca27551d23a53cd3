// SPDX-License-Identifier: Apache-2.0
// The nodes of ONNX that compute what a network's layers do in evaluation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/shape.hpp"
#include "exchange/onnx_graph.hpp"
#include "spec/recipe.hpp"

namespace quern {

/// A value of the graph. A flat one may still have the axes of an image, [batch, C, 1, 1].
struct OnnxValue {
  std::string name;
  Shape shape;
  bool has_image_axes = false;

  std::vector<std::int64_t> axes() const;
};

/// Appends layer after layer. The initialisers of the parameters ("fc1.weight") are the caller's.
class OnnxNodes {
 public:
  /// `input`: the value that the first layer reads.
  OnnxNodes(OnnxGraph& graph, const OnnxValue& input);

  /// In front of all layers: (x - mean) / std of each channel, as data.normalize says.
  void add(const NormalizeSpec& normalize);
  /// Behind all layers, first: of one pixel the output is [batch, C].
  void flatten_pixel();
  /// Behind all layers: the probabilities that a binary cross entropy takes outputs for.
  void add_probabilities();
  /// Behind all layers: x * std + mean of each channel, as data.normalize_targets says.
  void add_way_back(const NormalizeSpec& normalize);
  /// The layers in order, with sound shapes. InputError for one that ONNX has no word for.
  void add(const LayerSpec& layer);

  /// What the last layer put out.
  const OnnxValue& last() const { return last_; }

 private:
  void by_channels(const char* type, const std::string& name, const std::string& initializer,
                   const std::vector<double>& numbers);
  const OnnxValue& input_of(const LayerSpec& layer, std::size_t i) const;
  OnnxValue as_image(const OnnxValue& value, const std::string& layer);
  OnnxValue as_flat(const OnnxValue& value, const std::string& layer);
  OnnxValue compute(const LayerSpec& layer, const OnnxValue& x);
  OnnxValue window(const LayerSpec& layer, const OnnxValue& x);
  OnnxValue group_norm(const LayerSpec& layer, const OnnxValue& x);
  OnnxValue gelu(const LayerSpec& layer, const OnnxValue& x);
  OnnxValue sum(const LayerSpec& layer);
  OnnxValue concat(const LayerSpec& layer);
  OnnxValue upsample(const LayerSpec& layer, const OnnxValue& x);
  OnnxValue node(const std::string& type, const LayerSpec& layer, const OnnxValue& x,
                 const std::vector<std::string>& parameters, const OnnxAttributes& attributes);

  OnnxGraph& graph_;
  std::map<std::string, OnnxValue> values_;  // by layer
  OnnxValue last_;
  bool has_axes_ = false;  // initialisers that several nodes share
  bool has_channel_axes_ = false;
  bool has_scalars_ = false;
};

}  // namespace quern

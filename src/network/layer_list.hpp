// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "spec/network_spec.hpp"

namespace quern {

/// InputError: "network.layers: layer 'fc1' (linear, recipe line 12) " and `why`.
[[noreturn]] void refuse_layer(const LayerSpec& spec, const std::string& why);

/// The layers of a network, by number, with what they read.
class LayerList {
 public:
  static constexpr int kBatch = -1;  ///< in the place of a layer's number

  /// `spec` outlives it. InputError where an input is unknown or comes later, or where nobody
  /// reads an output.
  explicit LayerList(const NetworkSpec& spec);

  int count() const { return static_cast<int>(spec_.layers.size()); }
  const LayerSpec& at(int i) const { return spec_.layers[static_cast<std::size_t>(i)]; }
  const std::vector<int>& inputs(int i) const { return inputs_[static_cast<std::size_t>(i)]; }
  const Shape& batch() const { return spec_.input; }
  std::string name(int i) const { return i == kBatch ? "input" : at(i).name; }

 private:
  std::vector<int> inputs_of(int i) const;
  int find(int reader, const std::string& name) const;
  void check_readers() const;

  const NetworkSpec& spec_;
  std::map<std::string, int> number_;
  std::vector<std::vector<int>> inputs_;
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "network/layer_list.hpp"

#include "base/error.hpp"
#include "network/build_layer.hpp"

namespace quern {

void refuse_layer(const LayerSpec& spec, const std::string& why) {
  throw InputError("network.layers: " + describe(spec) + " " + why);
}

LayerList::LayerList(const NetworkSpec& spec) : spec_(spec) {
  if (count() == 0) throw InputError("network.layers: there is none, expected at least one");
  for (int i = 0; i < count(); ++i) number_.emplace(at(i).name, i);
  for (int i = 0; i < count(); ++i) inputs_.push_back(inputs_of(i));
  check_readers();
}

std::vector<int> LayerList::inputs_of(int i) const {
  const LayerSpec& layer = at(i);
  const bool reads_list = reads_several(layer.type);
  if (layer.inputs.empty() && !reads_list) return {i - 1};
  if (reads_list ? layer.inputs.size() < 2 : layer.inputs.size() > 1) {
    refuse_layer(layer,
                 "reads " + std::to_string(layer.inputs.size()) + " inputs, expected " +
                     (reads_list ? "at least two" : "one; an add or concat layer takes several"));
  }
  std::vector<int> inputs;
  for (const std::string& name : layer.inputs) inputs.push_back(find(i, name));
  return inputs;
}

int LayerList::find(int reader, const std::string& name) const {
  const auto found = number_.find(name);
  if (found == number_.end()) {
    if (name == "input") return kBatch;
    refuse_layer(at(reader),
                 "reads '" + name + "', which is no layer (expected 'input' or a layer before it)");
  }
  if (found->second < reader) return found->second;
  if (found->second == reader)
    refuse_layer(at(reader), "reads itself (expected a layer before it)");
  refuse_layer(at(reader), "reads " + describe(at(found->second)) +
                               ", which comes later (expected a layer before it)");
}

void LayerList::check_readers() const {
  std::vector<bool> is_read(spec_.layers.size(), false);
  for (const std::vector<int>& inputs : inputs_)
    for (const int input : inputs)
      if (input != kBatch) is_read[static_cast<std::size_t>(input)] = true;
  for (int i = 0; i + 1 < count(); ++i) {
    if (is_read[static_cast<std::size_t>(i)]) continue;
    refuse_layer(at(i),
                 "puts out what no later layer reads (expected a reader; the output of the "
                 "network is that of its last layer)");
  }
}

}  // namespace quern

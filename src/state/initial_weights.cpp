// SPDX-License-Identifier: Apache-2.0
#include "state/initial_weights.hpp"

#include <utility>

#include "base/log.hpp"
#include "checkpoint/weights_file.hpp"

namespace quern {

std::vector<NamedShape> named_shapes(const ParameterTable& table) {
  std::vector<NamedShape> shapes;
  for (const ParameterEntry& entry : table.entries()) shapes.push_back({entry.name, entry.shape});
  return shapes;
}

InitialWeights load_initial_weights(const InitSpec& init, const ParameterTable& table) {
  const std::vector<NamedShape> network = named_shapes(table);
  LoadedCheckpoint file = read_weights(init.file);
  WeightRules rules;
  rules.rename = init.rename;
  rules.only = init.only;
  rules.rename_word = "network.init.rename";
  rules.only_word = "network.init.only";
  rules.skip_word = "";  // it has no such key
  std::vector<NamedTensor> tensors =
      match_weights(file.path().string(), file.state().model, network, rules);
  log::info("initial weights: " + std::to_string(tensors.size()) + " of " +
            std::to_string(network.size()) + " tensors from '" + file.path().string() + "'");
  return {std::move(file), std::move(tensors)};
}

}  // namespace quern

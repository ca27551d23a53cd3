// SPDX-License-Identifier: Apache-2.0
#include "strategy/tensor_plan.hpp"

#include <algorithm>

namespace quern {

TensorPlan tensor_plan(const Model& model, int rows) {
  TensorPlan plan;
  plan.slices = model.slices();
  const ParameterTable& table = model.network().table();
  plan.parameters = table.num_parameters();
  for (const ParameterEntry& entry : table.entries()) {
    const std::string layer = entry.name.substr(0, entry.name.rfind('.'));
    std::vector<std::string>& names = entry.is_part() ? plan.split : plan.whole;
    if (std::ranges::find(names, layer) == names.end()) names.push_back(layer);
  }
  std::int64_t floats = 0;
  for (const ExchangedFloats& layer : model.network().exchanged_floats(rows))
    floats += layer.gathered + 2 * layer.summed;
  const int ranks = plan.slices.ranks;
  plan.sent_bytes = floats * (ranks - 1) / ranks * static_cast<std::int64_t>(sizeof(float));
  return plan;
}

}  // namespace quern

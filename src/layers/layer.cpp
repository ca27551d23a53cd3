// SPDX-License-Identifier: Apache-2.0
#include "layers/layer.hpp"

namespace quern {

LayerArrays allocate_memory(const Layer& layer, const BatchLimit& most) {
  const auto floats = [](const std::string& label, std::int64_t count) {
    return FloatView("quern::layers::" + label, static_cast<std::size_t>(count));
  };
  LayerArrays arrays;
  arrays.own = floats(layer.name() + "_own", layer.own_floats(most));
  arrays.workspace = floats("workspace", layer.workspace_floats(most));
  return arrays;
}

}  // namespace quern

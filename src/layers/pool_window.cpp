// SPDX-License-Identifier: Apache-2.0
#include "layers/pool_window.hpp"

#include "base/assert.hpp"
#include "base/error.hpp"

namespace quern {

Shape pooled_shape(const LayerSpec& spec, const Shape& input) {
  expect(spec.size >= 1 && spec.stride >= 1, "a pool with size and stride of at least 1");
  if (spec.size > input.height || spec.size > input.width) {
    const std::string size = std::to_string(spec.size);
    const std::string line =
        spec.recipe_line > 0 ? " (line " + std::to_string(spec.recipe_line) + ")" : "";
    throw InputError("layer '" + spec.name + "'" + line + ": a " + size + " x " + size +
                     " window does not fit into its input " + to_string(input) +
                     " (channels, height, width)");
  }
  return {input.channels, (input.height - spec.size) / spec.stride + 1,
          (input.width - spec.size) / spec.stride + 1};
}

PoolWindow make_pool_window(const LayerSpec& spec, const Shape& input) {
  const Shape output = pooled_shape(spec, input);
  return {input.height, input.width, output.height, output.width, spec.size, spec.stride};
}

}  // namespace quern

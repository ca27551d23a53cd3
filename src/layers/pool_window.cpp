// SPDX-License-Identifier: Apache-2.0
#include "layers/pool_window.hpp"

#include "base/assert.hpp"

namespace quern {

Shape pooled_shape(const LayerSpec& spec, const Shape& input) {
  expect(spec.size >= 1 && spec.stride >= 1, "a pool with size and stride of at least 1");
  expect(spec.size <= input.height && spec.size <= input.width, "a pool's window inside its input");
  return {input.channels, (input.height - spec.size) / spec.stride + 1,
          (input.width - spec.size) / spec.stride + 1};
}

PoolWindow make_pool_window(const LayerSpec& spec, const Shape& input) {
  const Shape output = pooled_shape(spec, input);
  return {input.height, input.width, output.height, output.width, spec.size, spec.stride};
}

}  // namespace quern

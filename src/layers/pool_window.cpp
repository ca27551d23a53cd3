// SPDX-License-Identifier: Apache-2.0
#include "layers/pool_window.hpp"

#include "base/assert.hpp"

namespace quern {

Shape pooled_shape(const LayerSpec& spec, const Shape& input) {
  expect(spec.size >= 1 && spec.stride >= 1, "a pool with size and stride of at least 1");
  expect(spec.padding >= 0 && 2 * spec.padding <= spec.size, "a padding of half a window at most");
  const int height = input.height + 2 * spec.padding;
  const int width = input.width + 2 * spec.padding;
  expect(spec.size <= height && spec.size <= width, "a pool's window inside its input");
  return {input.channels, (height - spec.size) / spec.stride + 1,
          (width - spec.size) / spec.stride + 1};
}

PoolWindow make_pool_window(const LayerSpec& spec, const Shape& input) {
  const Shape output = pooled_shape(spec, input);
  return {input.height, input.width, output.height, output.width,
          spec.size,    spec.stride, spec.padding};
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Floats of an array as messages take them: where they lie, on the host or on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/types.hpp"

namespace quern {

/// `count` floats of an array from `begin` on. Valid while the array is there.
template <class FloatArray>
std::span<float> float_span(const FloatArray& array, std::int64_t begin, std::int64_t count) {
  return std::span(array.data(), array.extent(0))
      .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
}

/// All of them.
template <class FloatArray>
std::span<float> float_span(const FloatArray& array) {
  return {array.data(), array.extent(0)};
}

}  // namespace quern

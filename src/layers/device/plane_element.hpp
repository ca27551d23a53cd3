// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensor/types.hpp"

namespace quern::device {

/// Element `i` of an array of planes [height, width] in nchw16n.
struct PlaneElement {
  int lane;
  int column;
  int row;
  std::int64_t plane;

  KOKKOS_INLINE_FUNCTION PlaneElement(std::int64_t i, int height, int width) {
    lane = static_cast<int>(i % kLanes);
    i /= kLanes;
    column = static_cast<int>(i % width);
    i /= width;
    row = static_cast<int>(i % height);
    plane = i / height;
  }
};

}  // namespace quern::device

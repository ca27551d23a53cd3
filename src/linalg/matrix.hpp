// SPDX-License-Identifier: Apache-2.0
// Matrices inside somebody else's View. Element (r, c) lies at
//   r * stride + c                                       row-major, panel = kLanes, or
//   c / kLanes * panel + r * stride + c % kLanes         in panels of kLanes columns.
// Panels are for matrices that register tiles walk down: there the rows of a tile are neighbours in
// memory, whatever the width of the matrix. Lengths are in floats.
#pragma once

#include <cstdint>

#include "tensor/types.hpp"

namespace quern {

template <class T>
struct MatrixOf {
  T* data = nullptr;
  int rows = 0;
  int columns = 0;
  std::int64_t stride = 0;      ///< from row to row; row-major: at least `columns`
  std::int64_t panel = kLanes;  ///< from panel to panel

  KOKKOS_INLINE_FUNCTION constexpr std::int64_t place(std::int64_t r, std::int64_t c) const {
    return c / kLanes * panel + r * stride + c % kLanes;
  }
};

using Matrix = MatrixOf<float>;
using ConstMatrix = MatrixOf<const float>;

/// The matrix in panels that lie one after the other.
template <class T>
constexpr MatrixOf<T> in_panels(T* data, int rows, int columns) {
  return {data, rows, columns, kLanes, std::int64_t{rows} * kLanes};
}

/// Where a matrix lies in every partial sum of a gradient; stride and panel as above.
struct GradientPlace {
  std::int64_t offset = 0;
  std::int64_t stride = 0;
  std::int64_t panel = kLanes;
};

}  // namespace quern

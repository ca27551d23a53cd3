// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "linalg/matrix.hpp"
#include "tensor/types.hpp"

namespace quern::device {

/// linalg/transpose.hpp on a device.
inline void transpose(const ExecSpace& exec, const std::string& label, const Matrix& b,
                      const ConstMatrix& a) {
  const std::int64_t columns = b.columns;
  Kokkos::parallel_for(
      label, RangePolicy(exec, 0, b.rows * columns), KOKKOS_LAMBDA(std::int64_t i) {
        b.data[i / columns * b.stride + i % columns] = a.data[i % columns * a.stride + i / columns];
      });
}

}  // namespace quern::device

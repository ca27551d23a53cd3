// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quern {

/// A row-major matrix inside somebody else's View: element (r, c) at data[r * stride + c].
/// Does not own. stride >= columns, in floats.
template <class T>
struct MatrixOf {
  T* data = nullptr;
  int rows = 0;
  int columns = 0;
  std::int64_t stride = 0;
};

using Matrix = MatrixOf<float>;
using ConstMatrix = MatrixOf<const float>;

}  // namespace quern

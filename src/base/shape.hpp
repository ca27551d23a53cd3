// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quern {

/// Shape of one sample, [C, H, W]. A flat sample of F features is [F, 1, 1].
struct Shape {
  int channels = 0;
  int height = 1;
  int width = 1;

  /// Number of units (scalars) of one sample.
  int units() const { return channels * height * width; }
  bool is_flat() const { return height == 1 && width == 1; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// "[20, 26, 26]", or "[128]" for a flat shape.
std::string to_string(const Shape& shape);

}  // namespace quern

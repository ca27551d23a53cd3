// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quern {

/// Most units of one sample: an int can still hold them when a row is rounded up to registers.
inline constexpr int kMaxUnits = 1 << 30;

/// Shape of one sample, [C, H, W]. A flat sample of F features is [F, 1, 1].
struct Shape {
  int channels = 0;
  int height = 1;
  int width = 1;

  /// Number of units (scalars) of one sample.
  int units() const { return channels * height * width; }
  /// Are there more than kMaxUnits? Then units() may be wrong.
  bool is_too_large() const;
  bool is_flat() const { return height == 1 && width == 1; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// "[20, 26, 26]", or "[128]" for a flat shape.
std::string to_string(const Shape& shape);

}  // namespace quern

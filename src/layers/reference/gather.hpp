// SPDX-License-Identifier: Apache-2.0
// Reference implementation of layers/gather.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layers/window.hpp"

namespace quern::reference {

/// Values [rows, units] of a batch: data[sample][unit] / divisor, zeros where sample is -1.
template <class T>
std::vector<float> gather(std::span<const T> data, std::size_t units,
                          std::span<const std::int64_t> sample_of_row, float divisor) {
  std::vector<float> values;
  for (const std::int64_t sample : sample_of_row)
    for (std::size_t u = 0; u < units; ++u)
      values.push_back(
          sample < 0
              ? 0.0f
              : static_cast<float>(data[static_cast<std::size_t>(sample) * units + u]) / divisor);
  return values;
}

/// The windows of the samples, [rows, C, H, W]: an image with a border of zeros, wide enough for
/// any window, out of which one is cut, and flipped if it says so. Zeros where the sample is -1.
template <class T>
std::vector<T> cut_windows(std::span<const T> data, const Shape& shape,
                           std::span<const std::int64_t> sample_of_row,
                           std::span<const Window> windows) {
  const int border = std::max(shape.height, shape.width);
  const int padded_width = shape.width + 2 * border;
  std::vector<T> cut;
  for (std::size_t row = 0; row < sample_of_row.size(); ++row)
    for (int c = 0; c < shape.channels; ++c) {
      std::vector<T> padded(static_cast<std::size_t>((shape.height + 2 * border) * padded_width));
      const auto place = [&](int h, int w) {
        return static_cast<std::size_t>((h + border) * padded_width + w + border);
      };
      for (int h = 0; sample_of_row[row] >= 0 && h < shape.height; ++h)
        for (int w = 0; w < shape.width; ++w)
          padded[place(h, w)] = data[static_cast<std::size_t>(
              ((sample_of_row[row] * shape.channels + c) * shape.height + h) * shape.width + w)];
      for (int h = 0; h < shape.height; ++h) {
        std::vector<T> line;
        for (int w = 0; w < shape.width; ++w)
          line.push_back(padded[place(h + windows[row].top, w + windows[row].left)]);
        if (windows[row].flipped) std::reverse(line.begin(), line.end());
        cut.insert(cut.end(), line.begin(), line.end());
      }
    }
  return cut;
}

}  // namespace quern::reference

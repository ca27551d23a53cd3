// SPDX-License-Identifier: Apache-2.0
// Reference implementation of layers/gather.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

}  // namespace quern::reference

// SPDX-License-Identifier: Apache-2.0
// Reference implementation of layers/concat.hpp, for one sample [C, H, W].
#pragma once

#include <cstddef>
#include <vector>

#include "base/shape.hpp"

namespace quern::reference {

template <class T>
struct ConcatPart {
  Shape shape;
  std::vector<T> values;
};

/// Calls visit(part, unit of it, unit of the whole) for every unit.
template <class T, class Visit>
void for_each_joined_unit(const std::vector<ConcatPart<T>>& parts, Visit&& visit) {
  int first_channel = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Shape& shape = parts[k].shape;
    for (int c = 0; c < shape.channels; ++c)
      for (int h = 0; h < shape.height; ++h)
        for (int w = 0; w < shape.width; ++w) {
          const auto unit_of = [&](int channel) {
            return static_cast<std::size_t>((channel * shape.height + h) * shape.width + w);
          };
          visit(k, unit_of(c), unit_of(first_channel + c));
        }
    first_channel += shape.channels;
  }
}

template <class T>
std::vector<T> concat(const std::vector<ConcatPart<T>>& parts) {
  std::size_t units = 0;
  for (const ConcatPart<T>& part : parts) units += part.values.size();
  std::vector<T> y(units);
  for_each_joined_unit(parts, [&](std::size_t k, std::size_t from, std::size_t to) {
    y[to] = parts[k].values[from];
  });
  return y;
}

/// The gradient of part `wanted`.
template <class T>
std::vector<T> concat_backward(const std::vector<ConcatPart<T>>& parts, std::size_t wanted,
                               const std::vector<T>& dy) {
  std::vector<T> dx(parts[wanted].values.size());
  for_each_joined_unit(parts, [&](std::size_t k, std::size_t from, std::size_t to) {
    if (k == wanted) dx[from] = dy[to];
  });
  return dx;
}

}  // namespace quern::reference

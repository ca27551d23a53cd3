// SPDX-License-Identifier: Apache-2.0
// Moves activations between logical order [S, units] on the host and their layout.
#pragma once

#include <string>
#include <vector>

#include "tensor/activation.hpp"

namespace quern::test {

/// Writes values [rows, units]; what is padding in the layout stays as it is.
inline void fill(const Activation& a, const std::vector<float>& values) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a.data);
  const ActivationIndex at(a);
  const int units = a.shape.units();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    host(at(index / units, index % units)) = values[i];
  }
  Kokkos::deep_copy(a.data, host);
}

/// Reads values [num_rows, units].
inline std::vector<float> read(const Activation& a, int num_rows) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a.data);
  const ActivationIndex at(a);
  std::vector<float> values;
  for (int row = 0; row < num_rows; ++row) {
    for (int unit = 0; unit < a.shape.units(); ++unit) values.push_back(host(at(row, unit)));
  }
  return values;
}

inline Activation make_activation(const Shape& shape, Layout layout, int rows) {
  return allocate_activation("quern::test::activation", shape, layout, rows);
}

/// A View that holds a copy of the values, with readable slack after them.
inline FloatView make_view(const std::vector<float>& values) {
  FloatView view("quern::test::values", values.size() + 8 * kLanes);
  const auto host = Kokkos::create_mirror_view(view);
  for (std::size_t i = 0; i < values.size(); ++i) host(i) = values[i];
  Kokkos::deep_copy(view, host);
  return view;
}

inline std::vector<float> read(const FloatView& view, std::size_t begin, std::size_t count) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  return {host.data() + begin, host.data() + begin + count};
}

}  // namespace quern::test

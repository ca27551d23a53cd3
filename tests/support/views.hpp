// SPDX-License-Identifier: Apache-2.0
// Between host vectors and what kernels read and write.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/activation.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern::test {

template <class T>
View<T> to_view(const std::vector<T>& values) {
  View<T> view("test::view", values.size());
  Kokkos::deep_copy(view, Kokkos::View<const T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                              values.data(), values.size()));
  return view;
}

template <class T>
std::vector<std::remove_const_t<T>> to_vector(const View<T>& view) {
  std::vector<std::remove_const_t<T>> values(view.extent(0));
  Kokkos::View<std::remove_const_t<T>*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> host(
      values.data(), values.size());
  Kokkos::deep_copy(host, view);
  return values;
}

/// Overwrites as many elements as there are values.
template <class T>
void overwrite(const View<T>& view, const std::vector<T>& values) {
  const auto part = Kokkos::subview(view, std::pair(std::size_t{0}, values.size()));
  Kokkos::deep_copy(part, Kokkos::View<const T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                              values.data(), values.size()));
}

/// The element of a View that has one.
template <class T>
std::remove_const_t<T> only_value(const View<T>& view) {
  return to_vector(view).at(0);
}

/// Values in the order [rows, units], whatever the layout.
inline std::vector<float> values_of(const Activation& activation) {
  const std::vector<float> raw = to_vector(activation.data);
  const ActivationIndex index(activation);
  std::vector<float> values;
  for (int s = 0; s < activation.rows; ++s)
    for (int u = 0; u < activation.shape.units(); ++u)
      values.push_back(raw[static_cast<std::size_t>(index(s, u))]);
  return values;
}

/// Writes values [rows, units]; `rest` goes everywhere else (padding and slack).
inline void set_values(const Activation& activation, const std::vector<float>& values,
                       float rest = 0) {
  std::vector<float> raw(activation.data.extent(0), rest);
  const ActivationIndex index(activation);
  std::size_t next = 0;
  for (int s = 0; s < activation.rows; ++s)
    for (int u = 0; u < activation.shape.units(); ++u)
      raw[static_cast<std::size_t>(index(s, u))] = values.at(next++);
  Kokkos::deep_copy(activation.data, to_view(raw));
}

/// An activation full of `value`, padding and slack included: what a kernel has to overwrite.
inline Activation filled_activation(const Shape& shape, Layout layout, int rows, float value) {
  const Activation activation = allocate_activation("test::activation", shape, layout, rows);
  Kokkos::deep_copy(activation.data, value);
  return activation;
}

inline Activation make_activation(const Shape& shape, Layout layout, int rows,
                                  const std::vector<float>& values, float rest = 0) {
  const Activation activation = filled_activation(shape, layout, rows, rest);
  set_values(activation, values, rest);
  return activation;
}

/// The layouts of flat layers; cn16c is for the kernels of a CPU.
inline std::vector<Layout> flat_layouts() {
  if (runs_device_kernels()) return {Layout::nc};
  return {Layout::cn16c, Layout::nc};
}
inline std::vector<Layout> all_layouts() {
  std::vector<Layout> layouts = flat_layouts();
  layouts.push_back(Layout::nchw16n);
  return layouts;
}

/// Largest magnitude in the padding of units to whole lane groups, in nc and cn16c (0 for nchw16n):
/// must be 0 after gather and conversion.
inline float padding_of(const Activation& activation) {
  if (activation.layout == Layout::nchw16n) return 0;
  const std::vector<float> raw = to_vector(activation.data);
  const ActivationIndex at(activation);
  float largest = 0;
  for (int s = 0; s < activation.rows; ++s)
    for (std::int64_t u = activation.shape.units(); u % kLanes != 0; ++u)
      largest = std::max(largest, std::abs(raw[static_cast<std::size_t>(at(s, u))]));
  return largest;
}

/// The values of one sample of [count, units].
inline std::vector<float> sample_of(const std::vector<float>& values, int units, int row) {
  return {values.begin() + std::ptrdiff_t{row} * units,
          values.begin() + std::ptrdiff_t{row + 1} * units};
}

/// To compare what holds pairs of bfloat16, or denormals: comparisons of floats may take either for
/// zero.
inline std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

}  // namespace quern::test

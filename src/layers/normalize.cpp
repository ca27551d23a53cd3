// SPDX-License-Identifier: Apache-2.0
#include "layers/normalize.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "layers/normalize_kernels.hpp"

namespace quern {

namespace {

/// One value per unit of a sample out of one per channel.
ConstFloatView to_units(const std::string& label, const Shape& shape,
                        std::span<const double> channels, float rest) {
  const auto units = static_cast<std::size_t>(shape.units());
  FloatView values(label, static_cast<std::size_t>(round_up_to_lanes(shape.units())));
  const auto host = Kokkos::create_mirror_view(values);
  const std::size_t plane = units / static_cast<std::size_t>(shape.channels);
  for (std::size_t i = 0; i < host.extent(0); ++i) {
    const std::size_t channel = channels.size() == 1 ? 0 : i / plane;
    host(i) = i < units ? static_cast<float>(channels[channel]) : rest;
  }
  Kokkos::deep_copy(values, host);
  return values;
}

}  // namespace

Normalization make_normalization(const Shape& shape, std::span<const double> mean,
                                 std::span<const double> std) {
  const auto fits = [&](std::span<const double> values) {
    return values.size() == 1 || values.size() == static_cast<std::size_t>(shape.channels);
  };
  expect(fits(mean) && fits(std), "a mean and a deviation for each channel");
  return {to_units("quern::layers::mean", shape, mean, 0),
          to_units("quern::layers::std", shape, std, 1)};
}

namespace {

void apply(const ExecSpace& exec, NormalizeWay way, const Normalization& normalization,
           const View<const std::int64_t>& sample_of_row, const Activation& y) {
  expect(y.layout != Layout::tiles, "values that are not rounded");
  expect(sample_of_row.extent_int(0) >= y.rows, "a sample for every row");
  expect(normalization.mean.extent_int(0) == round_up_to_lanes(y.shape.units()),
         "a normalization of samples of this size");
  const auto run = choose_kernels<ApplyNormalization>(
      {.host = host_set<host::apply_normalization>(), .device = device::apply_normalization});
  run(exec, way, normalization, sample_of_row, y);
}

}  // namespace

void normalize(const ExecSpace& exec, const Normalization& normalization,
               const View<const std::int64_t>& sample_of_row, const Activation& y) {
  apply(exec, NormalizeWay::to_normal, normalization, sample_of_row, y);
}

void denormalize(const ExecSpace& exec, const Normalization& normalization,
                 const View<const std::int64_t>& sample_of_row, const Activation& y) {
  apply(exec, NormalizeWay::from_normal, normalization, sample_of_row, y);
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "layers/normalize.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "tensor/chunks.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

struct Forth {
  KOKKOS_INLINE_FUNCTION static float of(float y, float mean, float std) {
    return (y - mean) / std;
  }
};

struct Back {
  KOKKOS_INLINE_FUNCTION static float of(float y, float mean, float std) { return y * std + mean; }
};

/// 16 units of 16 rows on a CPU, or one unit of one row on a device.
template <class Way>
struct NormalizeBlock {
  const float* mean;
  const float* std;
  const std::int64_t* sample_of_row;
  float* y;
  ActivationIndex at;
  std::int64_t rows;

  std::int64_t unit_blocks() const { return round_up_to_lanes(at.units) / kLanes; }
  std::int64_t num_items() const { return (rows + kLanes - 1) / kLanes * unit_blocks(); }

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t blocks = (at.units + kLanes - 1) / kLanes;
    const std::int64_t first_row = item / blocks * kLanes;
    const std::int64_t first_unit = item % blocks * kLanes;
    if (at.layout == Layout::nchw16n)
      normalize_lanes(first_row, first_unit);
    else
      normalize_rows(first_row, first_unit);
  }

  /// Side by side: units of one row.
  KOKKOS_INLINE_FUNCTION void normalize_rows(std::int64_t first_row, std::int64_t unit) const {
    const std::int64_t end = first_row + kLanes < rows ? first_row + kLanes : rows;
    for (std::int64_t row = first_row; row < end; ++row) {
      if (sample_of_row[row] < 0) continue;
      float* values = y + at.sixteen(row, unit);
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l)
        values[l] = Way::of(values[l], mean[unit + l], std[unit + l]);
    }
  }

  /// Side by side: rows of one unit.
  KOKKOS_INLINE_FUNCTION void normalize_lanes(std::int64_t first_row,
                                              std::int64_t first_unit) const {
    bool is_filled[kLanes];
    for (int l = 0; l < kLanes; ++l) is_filled[l] = sample_of_row[first_row + l] >= 0;
    const std::int64_t end = first_unit + kLanes < at.units ? first_unit + kLanes : at.units;
    for (std::int64_t unit = first_unit; unit < end; ++unit) {
      float* values = y + at(first_row, unit);
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) {
        const float value = Way::of(values[l], mean[unit], std[unit]);
        values[l] = is_filled[l] ? value : values[l];
      }
    }
  }
};

/// One value, for devices: neighbours write neighbours.
template <class Way>
struct NormalizeElement {
  NormalizeBlock<Way> block;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t i) const {
    const ActivationIndex& at = block.at;
    const bool is_flat = at.layout == Layout::nc;
    const std::int64_t unit = is_flat ? i % at.stride : i / kLanes % at.units;
    const std::int64_t row = is_flat ? i / at.stride : i / kLanes / at.units * kLanes + i % kLanes;
    if (unit >= at.units || block.sample_of_row[row] < 0) return;
    block.y[i] = Way::of(block.y[i], block.mean[unit], block.std[unit]);
  }
};

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

template <class Way>
void apply(const std::string& label, const ExecSpace& exec, const Normalization& normalization,
           const View<const std::int64_t>& sample_of_row, const Activation& y) {
  expect(y.layout != Layout::tiles, "values that are not rounded");
  expect(sample_of_row.extent_int(0) >= y.rows, "a sample for every row");
  expect(normalization.mean.extent_int(0) == round_up_to_lanes(y.shape.units()),
         "a normalization of samples of this size");
  const NormalizeBlock<Way> block{normalization.mean.data(), normalization.std.data(),
                                  sample_of_row.data(),      y.data.data(),
                                  ActivationIndex(y),        y.rows};
  if (runs_device_kernels()) {
    expect(y.layout != Layout::cn16c, "nc or nchw16n, on a device");
    Kokkos::parallel_for(label, RangePolicy(exec, 0, y.size()), NormalizeElement<Way>{block});
  } else {
    Kokkos::parallel_for(label, RangePolicy(exec, 0, block.num_items()), block);
  }
}

}  // namespace

void normalize(const ExecSpace& exec, const Normalization& normalization,
               const View<const std::int64_t>& sample_of_row, const Activation& y) {
  apply<Forth>("quern::layers::normalize", exec, normalization, sample_of_row, y);
}

void denormalize(const ExecSpace& exec, const Normalization& normalization,
                 const View<const std::int64_t>& sample_of_row, const Activation& y) {
  apply<Back>("quern::layers::denormalize", exec, normalization, sample_of_row, y);
}

}  // namespace quern

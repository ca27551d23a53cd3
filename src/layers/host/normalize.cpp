// SPDX-License-Identifier: Apache-2.0
#include "base/ceil_div.hpp"
#include "layers/normalize_kernels.hpp"

#include "tensor/chunks.hpp"
#include "tensor/parallel_for.hpp"

namespace quern::host {

namespace {

/// 16 units of 16 rows.
template <class Way>
struct NormalizeBlock {
  const float* mean;
  const float* std;
  const std::int64_t* sample_of_row;
  float* y;
  ActivationIndex at;
  std::int64_t rows;

  std::int64_t unit_blocks() const { return round_up_to_lanes(at.units) / kLanes; }
  std::int64_t num_items() const { return ceil_div(rows, kLanes) * unit_blocks(); }

  void operator()(std::int64_t item) const {
    const std::int64_t blocks = ceil_div(at.units, kLanes);
    const std::int64_t first_row = item / blocks * kLanes;
    const std::int64_t first_unit = item % blocks * kLanes;
    if (at.layout == Layout::nchw16n)
      normalize_lanes(first_row, first_unit);
    else
      normalize_rows(first_row, first_unit);
  }

  /// Side by side: units of one row.
  void normalize_rows(std::int64_t first_row, std::int64_t unit) const {
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
  void normalize_lanes(std::int64_t first_row, std::int64_t first_unit) const {
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

}  // namespace

void apply_normalization(const ExecSpace& exec, NormalizeWay way,
                         const Normalization& normalization,
                         const View<const std::int64_t>& sample_of_row, const Activation& y) {
  with_way(way, [&](const char* label, auto of_element) {
    const NormalizeBlock<decltype(of_element)> block{
        normalization.mean.data(), normalization.std.data(),
        sample_of_row.data(),      y.data.data(),
        ActivationIndex(y),        y.rows};
    quern::parallel_for(label, RangePolicy(exec, 0, block.num_items()), block);
  });
}

}  // namespace quern::host

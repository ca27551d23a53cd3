// SPDX-License-Identifier: Apache-2.0
#include "base/ceil_div.hpp"
#include "layers/dropout_kernels.hpp"
#include "tensor/chunks.hpp"

namespace quern::host {

namespace {

// A work item is 16 quads of units, of one row (nc, cn16c) or of 16 rows (nchw16n).
constexpr int kQuadUnits = DropoutMask::kQuadUnits;
constexpr int kItemUnits = kQuadUnits * kLanes;

struct FlatMask : DropoutMask {
  ActivationIndex at;

  void operator()(std::int64_t item) const {
    const std::int64_t items_per_row = ceil_div(units, kItemUnits);
    const std::int64_t row = item / items_per_row;
    const int first = static_cast<int>(item % items_per_row) * kItemUnits;
    const int padded = static_cast<int>(round_up_to_lanes(units));
    const int width = padded - first < kItemUnits ? padded - first : kItemUnits;
    const std::int64_t sample = sample_of_row(row);
    float factor[kItemUnits] = {};
    if (sample >= 0)
      for (int q = 0; q < kLanes; ++q)
        draw(sample, first / kQuadUnits + q, factor + q * kQuadUnits, 1);
    for (int u = units - first; u < width; ++u) factor[u] = 0;
    for (int u = 0; u < width; u += kLanes) {
      const std::int64_t place = at.sixteen(row, first + u);
      QUERN_VECTORIZE
      for (int l = 0; l < kLanes; ++l) to[place + l] = apply(from[place + l], factor[u + l]);
    }
  }
};

struct LanesMask : DropoutMask {
  void operator()(std::int64_t item) const {
    const std::int64_t items_per_group = ceil_div(units, kItemUnits);
    const std::int64_t group = item / items_per_group;
    const int first = static_cast<int>(item % items_per_group) * kItemUnits;
    const int last = first + kItemUnits < units ? first + kItemUnits : units;
    for (int u = first; u < last; u += kQuadUnits) {
      float factor[kQuadUnits * kLanes] = {};
      for (int l = 0; l < kLanes; ++l) {
        const std::int64_t sample = sample_of_row(group * kLanes + l);
        if (sample >= 0) draw(sample, u / kQuadUnits, factor + l, kLanes);
      }
      const std::int64_t begin = (group * units + u) * kLanes;
      const int count = (last - u < kQuadUnits ? last - u : kQuadUnits) * kLanes;
      QUERN_VECTORIZE
      for (int i = 0; i < count; ++i) to[begin + i] = apply(from[begin + i], factor[i]);
    }
  }
};

}  // namespace

void apply_dropout(const ExecSpace& exec, const std::string& label, const DropoutMask& mask,
                   const Activation& from) {
  const std::int64_t per_row = ceil_div(mask.units, kItemUnits);
  if (from.layout != Layout::nchw16n)
    Kokkos::parallel_for(label, RangePolicy(exec, 0, from.rows * per_row),
                         FlatMask{mask, ActivationIndex(from)});
  else
    Kokkos::parallel_for(label, RangePolicy(exec, 0, from.rows / kLanes * per_row),
                         LanesMask{mask});
}

}  // namespace quern::host

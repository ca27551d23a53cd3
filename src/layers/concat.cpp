// SPDX-License-Identifier: Apache-2.0
#include "layers/concat.hpp"

#include "base/assert.hpp"
#include "layers/copy_runs.hpp"
#include "tensor/chunks.hpp"

namespace quern {

namespace {

// Units [from_unit, from_unit + units) to those from to_unit on, where 16 units of a row lie side
// by side; then zeros, up to `padded` units. Element i is unit i % padded of row i / padded.
struct CopyFlatUnits {
  const float* from;
  ActivationIndex from_at;
  int from_unit;
  float* to;
  ActivationIndex to_at;
  int to_unit;
  int units;
  int padded;

  KOKKOS_INLINE_FUNCTION static std::int64_t left_of_sixteen(int unit) {
    return kLanes - unit % kLanes;
  }

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t begin, std::int64_t end) const {
    while (begin < end) {
      const std::int64_t row = begin / padded;
      const int unit = static_cast<int>(begin % padded);
      const bool is_padding = unit >= units;
      std::int64_t count = (is_padding ? padded : units) - unit;
      if (end - begin < count) count = end - begin;
      const std::int64_t left = left_of_sixteen(to_unit + unit);
      if (left < count) count = left;
      float* out =
          to + to_at.sixteen(row, (to_unit + unit) / kLanes * kLanes) + (to_unit + unit) % kLanes;
      begin += count;
      if (is_padding) {
        for (std::int64_t i = 0; i < count; ++i) out[i] = 0;
        continue;
      }
      // In at most two pieces: 16 units there may be in two panels here.
      const std::int64_t here = left_of_sixteen(from_unit + unit);
      const std::int64_t first = here < count ? here : count;
      const float* in = from + from_at(row, from_unit + unit);
      for (std::int64_t i = 0; i < first; ++i) out[i] = in[i];
      if (first == count) continue;
      in = from + from_at(row, from_unit + unit + first);
      for (std::int64_t i = first; i < count; ++i) out[i] = in[i - first];
    }
  }
};

void copy_range(const ExecSpace& exec, const char* label, const Activation& from, int from_unit,
                const Activation& to, int to_unit, int units) {
  expect(from.layout == to.layout && from.rows == to.rows, "parts laid out as the whole");
  const bool is_flat = from.layout == Layout::nc || from.layout == Layout::cn16c;
  expect(is_flat || from.layout == Layout::nchw16n, "values in floats");
  if (!is_flat) {
    const std::int64_t from_stride = std::int64_t{kLanes} * from.shape.units();
    const std::int64_t to_stride = std::int64_t{kLanes} * to.shape.units();
    const std::int64_t length = std::int64_t{kLanes} * units;
    for_each_chunk(exec, label, from.rows / kLanes * length,
                   CopyRuns{from.data.data() + std::int64_t{kLanes} * from_unit, from_stride,
                            to.data.data() + std::int64_t{kLanes} * to_unit, to_stride, length});
    return;
  }
  const bool is_last = to_unit + units == to.shape.units();
  const auto end = static_cast<int>(round_up_to_lanes(to_unit + units));
  const int padded = is_last ? end - to_unit : units;
  for_each_chunk(exec, label, std::int64_t{from.rows} * padded,
                 CopyFlatUnits{from.data.data(), ActivationIndex(from), from_unit, to.data.data(),
                               ActivationIndex(to), to_unit, units, padded});
}

}  // namespace

void concat(const ExecSpace& exec, const Activation& x, const Activation& y, int first) {
  copy_range(exec, "quern::layers::concat", x, 0, y, first, x.shape.units());
}

void concat_backward(const ExecSpace& exec, const Activation& dy, int first, const Activation& dx) {
  copy_range(exec, "quern::layers::concat_backward", dy, first, dx, 0, dx.shape.units());
}

}  // namespace quern

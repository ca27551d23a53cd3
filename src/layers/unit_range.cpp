// SPDX-License-Identifier: Apache-2.0
#include "layers/unit_range.hpp"

#include "base/assert.hpp"
#include "layers/copy_runs.hpp"
#include "tensor/chunks.hpp"

namespace quern {

void copy_units(const ExecSpace& exec, const Activation& from, int from_unit, const Activation& to,
                int to_unit, int units) {
  expect(from.layout == to.layout && from.rows == to.rows, "arrays in one layout, of as many rows");
  const bool in_groups = from.layout == Layout::nchw16n;
  expect(
      in_groups || (from.layout == Layout::nc && from_unit % kLanes == 0 && to_unit % kLanes == 0),
      "nchw16n, or nc in whole lane groups");
  const std::int64_t width = in_groups ? kLanes : 1;  // floats of a unit, side by side
  const auto stride = [&](const Activation& a) {
    return in_groups ? width * a.shape.units() : std::int64_t{a.row_stride()};
  };
  const std::int64_t length = in_groups ? width * units : round_up_to_lanes(units);
  const std::int64_t runs = in_groups ? from.rows / kLanes : from.rows;
  for_each_chunk(exec, "quern::layers::copy_units", runs * length,
                 CopyRuns{from.data.data() + width * from_unit, stride(from),
                          to.data.data() + width * to_unit, stride(to), length});
}

}  // namespace quern

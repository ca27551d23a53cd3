// SPDX-License-Identifier: Apache-2.0
#include "optim/squares.hpp"

namespace quern::host {

void sum_chunks(const ExecSpace& exec, const std::string& label, const SquaredArrays& arrays,
                const View<const BlockRange>& chunks, double* sums) {
  Kokkos::parallel_for(label, RangePolicy(exec, 0, chunks.extent_int(0)), [=](std::int64_t i) {
    const BlockRange& chunk = chunks(i);
    for (int a = 0; a < arrays.count; ++a) {
      double lane[kLanes] = {};
      add_squares(arrays.array[a] + chunk.begin, chunk.end - chunk.begin, lane);
      sums[i * arrays.count + a] = sum_of_lanes(lane);
    }
  });
}

}  // namespace quern::host

// SPDX-License-Identifier: Apache-2.0
#include "optim/squares.hpp"

namespace quern::host {

void sum_chunks(const ExecSpace& exec, const ConstFloatView& gradient,
                const View<BlockRange>& chunks, double* sums) {
  Kokkos::parallel_for("quern::optim::clip_chunks", RangePolicy(exec, 0, chunks.extent_int(0)),
                       [=](std::int64_t i) {
                         const BlockRange& chunk = chunks(i);
                         double lane[kLanes] = {};
                         add_squares(gradient.data() + chunk.begin, chunk.end - chunk.begin, lane);
                         sums[i] = sum_of_lanes(lane);
                       });
}

}  // namespace quern::host

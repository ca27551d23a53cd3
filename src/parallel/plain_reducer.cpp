// SPDX-License-Identifier: Apache-2.0
#include "parallel/plain_reducer.hpp"

#include "parallel/host_span.hpp"

namespace quern {

int PlainReducer::num_partials(const BatchPartition& partition, int rank) const {
  return partition.num_blocks(rank) > 0 ? 1 : 0;
}

ReducedGradient PlainReducer::reduce(const ExecSpace& exec, ReductionPlan plan, float vote) {
  const BatchPartition& partition = partitions().at(static_cast<std::size_t>(plan));
  const FloatView& block = partials().data;
  const FloatView total = Kokkos::subview(block, Kokkos::make_pair(std::int64_t{0}, num_floats()));
  if (comm().size() == 1) return {total, vote};
  if (num_partials(partition, comm().rank()) == 0) Kokkos::deep_copy(exec, block, 0.0f);
  exec.fence("quern::parallel::partials_complete");
  const std::span<float> floats =
      host_span(block).first(static_cast<std::size_t>(num_floats() + 1));
  floats.back() = vote;
  comm().all_reduce_sum(floats);
  return {total, floats.back()};
}

}  // namespace quern

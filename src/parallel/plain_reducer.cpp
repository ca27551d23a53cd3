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
  if (comm().size() == 1) return reduced(block, vote);
  if (num_partials(partition, comm().rank()) == 0) Kokkos::deep_copy(exec, block, 0.0f);
  exec.fence("quern::parallel::partials_complete");
  const std::span<float> floats =
      host_span(block).first(static_cast<std::size_t>(num_floats() + 1));
  floats.back() = vote;
  comm().all_reduce_sum(floats);
  return reduced(block, floats.back());
}

}  // namespace quern

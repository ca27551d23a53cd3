// SPDX-License-Identifier: Apache-2.0
#include "parallel/plain_reducer.hpp"

namespace quern {

ReducedGradient PlainReducer::reduce(const ExecSpace& exec, ReductionPlan plan) {
  const BatchPartition& partition = partitions().at(static_cast<std::size_t>(plan));
  const FloatView& block = partial_sums().data;
  if (comm().size() == 1) return reduced(block);
  if (num_partial_sums(partition, comm().rank()) == 0) {
    Kokkos::deep_copy(exec, Kokkos::subview(block, std::pair(std::int64_t{0}, num_floats())), 0.0f);
  }
  exec.fence("quern::parallel::partial_sums_complete");
  comm().all_reduce_sum(host_span(block).first(static_cast<std::size_t>(num_floats() + 1)));
  return reduced(block);
}

}  // namespace quern

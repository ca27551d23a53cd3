// SPDX-License-Identifier: Apache-2.0
#include "parallel/plain_reducer.hpp"

namespace quern {

PlainReducer::PlainReducer(Communicator& comm, std::int64_t num_floats, std::int64_t num_sums,
                           const Updaters& updaters)
    : GradientReducer(comm, num_floats, SumOrder::ranks, num_sums),
      owners_(make_owners(comm, num_gradient(), updaters)) {}

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

std::vector<BlockRange> PlainReducer::ranges_of(int rank) const {
  return owners_ ? owners_->ranges_of(rank) : GradientReducer::ranges_of(rank);
}

void PlainReducer::publish_update(const ExecSpace& exec, const FloatView& parameters) {
  if (!owners_) return;
  exec.fence("quern::parallel::update_complete");
  owners_->gather(host_span(parameters));
}

}  // namespace quern

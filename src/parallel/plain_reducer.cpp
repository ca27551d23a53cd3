// SPDX-License-Identifier: Apache-2.0
#include "parallel/plain_reducer.hpp"

#include "base/assert.hpp"
#include "parallel/host_span.hpp"

namespace quern {

PlainReducer::PlainReducer(Communicator& comm, std::int64_t num_floats)
    : GradientReducer(comm, num_floats) {}

int PlainReducer::num_partials(const BatchPartition& partition) const {
  return partition.num_blocks(comm().rank()) > 0 ? 1 : 0;
}

ReductionPlan PlainReducer::add_plan(const BatchPartition& partition) {
  expect(partition.num_ranks() == comm().size(), "a partition for this communicator's ranks");
  has_partial_.push_back(num_partials(partition) > 0);
  if (!has_partial_.back() && zeros_.extent(0) == 0) {
    zeros_ = FloatView("quern::parallel::zeros", static_cast<std::size_t>(num_floats() + 1));
  }
  return ReductionPlan{static_cast<int>(has_partial_.size()) - 1};
}

ReducedGradient PlainReducer::reduce(const ExecSpace& exec, ReductionPlan plan,
                                     const GradientPartials& partials, float vote) {
  const bool has_partial = has_partial_.at(static_cast<std::size_t>(plan));
  check_partials(partials, has_partial ? 1 : 0);
  const FloatView block = has_partial ? partials.data : zeros_;
  const FloatView total = Kokkos::subview(block, Kokkos::make_pair(std::int64_t{0}, num_floats()));
  if (comm().size() == 1) return {total, vote};
  if (!has_partial) Kokkos::deep_copy(exec, zeros_, 0.0f);
  exec.fence("quern::parallel::partials_complete");
  const std::span<float> floats =
      host_span(block).first(static_cast<std::size_t>(num_floats() + 1));
  floats.back() = vote;
  comm().all_reduce_sum(floats);
  return {total, floats.back()};
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "parallel/shared_memory_reducer.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "parallel/state_memory.hpp"

namespace quern {

SharedMemoryReducer::SharedMemoryReducer(Communicator& comm, std::int64_t num_floats,
                                         SumOrder order, std::int64_t num_sums)
    : GradientReducer(comm, num_floats, order, num_sums),
      slices_(num_gradient(), comm.size()),
      sums_("quern::parallel::sums", static_cast<std::size_t>(num_sums + 1)) {
  expect(is_possible(comm), "ranks of one node, and kernels on the host");
}

bool SharedMemoryReducer::is_possible(const Communicator& comm) {
  return kHostExecution && comm.node_size() == comm.size();
}

// Of the total this rank's share, of the partial sums its section.
std::int64_t SharedMemoryReducer::num_buffer_floats() const {
  return with_reserve(max_partial_sums()) * partial_stride() +
         ceil_div(num_gradient(), comm().size());
}

FloatView SharedMemoryReducer::allocate_partial_sums() {
  section_ = with_reserve(max_partial_sums()) * partial_stride();
  const auto section = static_cast<std::size_t>(section_);
  const auto num_ranks = static_cast<std::size_t>(comm().size());
  partial_sums_memory_ = comm().allocate_node_shared(num_ranks * section * sizeof(float));
  total_memory_ =
      comm().allocate_node_shared(static_cast<std::size_t>(num_gradient()) * sizeof(float));
  all_partial_sums_ = floats_of(*partial_sums_memory_);
  total_ = floats_of(*total_memory_);
  for (const BatchPartition& partition : partitions()) plans_.push_back(make_plan(partition));
  const std::size_t begin = static_cast<std::size_t>(comm().rank()) * section;
  return Kokkos::subview(all_partial_sums_, std::pair(begin, begin + section));
}

void SharedMemoryReducer::prepare_later_plan() {
  expect(with_reserve(max_partial_sums()) * partial_stride() <= section_,
         "room for the partial sums of every plan");
  plans_.push_back(make_plan(partitions().back()));
}

SharedMemoryReducer::Plan SharedMemoryReducer::make_plan(const BatchPartition& partition) const {
  return {make_sum(partition, slices_.begin(comm().rank())), make_sum(partition, num_gradient())};
}

// The sum of all ranks' partial sums from `offset` on.
TreeSumPlan SharedMemoryReducer::make_sum(const BatchPartition& partition,
                                          std::int64_t offset) const {
  return make_tree_sum_plan(order(), partition, [&](int rank, std::int64_t partial) {
    return rank * section_ + partial * partial_stride() + offset;
  });
}

ReducedGradient SharedMemoryReducer::reduce(const ExecSpace& exec, ReductionPlan plan) {
  const ReducedGradient result = reduce_own_part(exec, plan);
  publish_update(exec, {});
  return result;
}

ReducedGradient SharedMemoryReducer::reduce_own_part(const ExecSpace& exec, ReductionPlan plan_id) {
  const ReducedGradient result = reduce_sums_first(exec, plan_id);
  sum_slice(exec, plan_id, slices_.begin(comm().rank()));
  return result;
}

ReducedGradient SharedMemoryReducer::reduce_and_update(const ExecSpace& exec, ReductionPlan plan_id,
                                                       std::int64_t num_updated,
                                                       const BeginUpdate& begin_update) {
  const ReducedGradient result = reduce_sums_first(exec, plan_id);
  const std::int64_t begin = slices_.begin(comm().rank());
  const std::int64_t end = std::clamp(num_updated, begin, slices_.end(comm().rank()));
  const ParameterUpdate update = begin_update(result.sums);
  expect(static_cast<bool>(update), "an optimizer that updates piece by piece");
  if constexpr (kHostExecution)
    host::tree_sum_update(exec, plan(plan_id).slice, all_partial_sums_, begin, end - begin, update);
  sum_slice(exec, plan_id, end);
  return result;
}

// What every rank needs; the total is that of the step before.
ReducedGradient SharedMemoryReducer::reduce_sums_first(const ExecSpace& exec,
                                                       ReductionPlan plan_id) {
  exec.fence("quern::parallel::partial_sums_complete");
  partial_sums_memory_->publish();

  float votes = 0;
  for (int rank = 0; rank < comm().size(); ++rank) votes += vote_of(rank);
  sums_(num_sums()) = votes;
  tree_sum(exec, plan(plan_id).sums, all_partial_sums_, all_partial_sums_, sums_, num_sums());
  return {total_, Kokkos::subview(sums_, std::pair(std::int64_t{0}, num_sums())),
          Kokkos::subview(sums_, std::pair(num_sums(), num_sums() + 1))};
}

// What of this rank's slice is in the gradient from `begin` on.
void SharedMemoryReducer::sum_slice(const ExecSpace& exec, ReductionPlan plan_id,
                                    std::int64_t begin) {
  const std::int64_t end = slices_.end(comm().rank());
  const std::int64_t skipped = begin - slices_.begin(comm().rank());
  const ConstFloatView partial_sums =
      Kokkos::subview(all_partial_sums_,
                      std::pair<std::int64_t, std::int64_t>(skipped, all_partial_sums_.extent(0)));
  tree_sum(exec, plan(plan_id).slice, partial_sums, partial_sums,
           Kokkos::subview(total_, std::pair(begin, end)), end - begin);
}

void SharedMemoryReducer::publish_update(const ExecSpace& exec, const FloatView&) {
  exec.fence("quern::parallel::update_complete");
  total_memory_->publish();
}

std::vector<BlockRange> SharedMemoryReducer::ranges_of(int rank) const {
  if (slices_.count(rank) == 0) return {};
  return {{slices_.begin(rank), slices_.end(rank)}};
}

std::string SharedMemoryReducer::describe() const {
  return "through shared memory, " + std::to_string(comm().size()) + " ranks of one node";
}

}  // namespace quern

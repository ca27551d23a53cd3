// SPDX-License-Identifier: Apache-2.0
#include "parallel/gradient_reducer.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace quern {

GradientReducer::GradientReducer(Communicator& comm, std::int64_t num_floats, SumOrder order,
                                 std::int64_t num_sums)
    : comm_(comm),
      num_floats_(num_floats),
      order_(order),
      num_sums_(num_sums),
      equal_counts_(static_cast<std::size_t>(comm.size())) {
  expect(num_sums >= 0 && num_floats > num_sums, "a gradient of at least one float");
}

std::int64_t GradientReducer::floats_sent(ReductionPlan plan) const {
  const BatchPartition& partition = partitions_.at(static_cast<std::size_t>(plan));
  // To the owners, and to everybody: the gradient, or the parameters that come of it.
  const std::int64_t to_owners =
      order_ == SumOrder::ranks ? 1 : num_partial_sums(partition, comm_.rank());
  const std::int64_t parameters = order_ == SumOrder::ranks && spreads_state() ? num_gradient() : 0;
  const std::int64_t ranks = comm_.size();
  return ((to_owners + 1) * num_floats_ + parameters) * (ranks - 1) / ranks;
}

ReductionPlan GradientReducer::add_plan(const BatchPartition& partition) {
  expect(partition.num_ranks() == comm_.size(), "a partition for this communicator's ranks");
  const bool is_allocated = partial_sums_.stride > 0;
  expect(!is_allocated || takes_later_plans(), "plans before allocate()");
  partitions_.push_back(partition);
  prepare_plan();
  if (is_allocated) prepare_later_plan();
  return ReductionPlan{static_cast<int>(partitions_.size()) - 1};
}

void GradientReducer::reserve(int partial_sums) {
  expect(partial_sums_.stride == 0, "reserve() before allocate()");
  reserved_ = std::max(reserved_, partial_sums);
}

void GradientReducer::allocate() {
  expect(partial_sums_.stride == 0, "one allocate()");
  partial_sums_ = {allocate_partial_sums(), partial_stride()};
}

int GradientReducer::num_partial_sums(const BatchPartition& partition, int rank) const {
  return quern::num_partial_sums(order_, partition, rank);
}

int GradientReducer::max_partial_sums() const {
  int most = 1;
  for (int rank = 0; rank < comm_.size(); ++rank) most = std::max(most, max_partial_sums(rank));
  return most;
}

int GradientReducer::max_partial_sums(int rank) const {
  int most = 1;
  for (const BatchPartition& partition : partitions_) {
    most = std::max(most, num_partial_sums(partition, rank));
  }
  return most;
}

FloatView GradientReducer::allocate_private_partial_sums() const {
  return FloatView("quern::parallel::partial_sums",
                   static_cast<std::size_t>(private_partial_floats()));
}

FloatView GradientReducer::vote() const {
  return Kokkos::subview(partial_sums_.data, std::pair(num_floats_, num_floats_ + 1));
}

std::span<float> GradientReducer::host_span(const FloatView& view) {
  expect(kHostExecution, "kernel memory that the host can reach");
  return {view.data(), view.extent(0)};
}

ReducedGradient GradientReducer::reduced(const ConstFloatView& floats) const {
  return {Kokkos::subview(floats, std::pair(std::int64_t{0}, num_gradient())),
          Kokkos::subview(floats, std::pair(num_gradient(), num_floats_)),
          Kokkos::subview(floats, std::pair(num_floats_, num_floats_ + 1))};
}

ReducedGradient GradientReducer::reduce_and_update(const ExecSpace& exec, ReductionPlan plan,
                                                   std::int64_t /*num_updated*/,
                                                   const BeginUpdate& /*begin_update*/) {
  expect(false, "a reducer that updates parameters");
  return reduce_own_part(exec, plan);
}

void GradientReducer::all_gather(const ExecSpace& exec, const FloatView& all) {
  const std::size_t part = all.extent(0) / static_cast<std::size_t>(comm_.size());
  exec.fence("quern::parallel::own_part_complete");
  std::fill(equal_counts_.begin(), equal_counts_.end(), static_cast<std::int64_t>(part));
  const std::span<float> floats = host_span(all);
  comm_.all_gather_v(floats.subspan(static_cast<std::size_t>(comm_.rank()) * part, part), floats,
                     equal_counts_);
}

std::string GradientReducer::describe() const {
  return comm_.size() == 1 ? "none: one rank has each batch"
                           : "by messages, " + std::to_string(comm_.size()) + " ranks";
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "parallel/tree_reducer.hpp"

#include <algorithm>
#include <string>

#include "base/assert.hpp"

namespace quern {

namespace {

std::int64_t extent(const std::vector<Segment>& segments) {
  std::int64_t end = 0;
  for (const Segment& segment : segments) end = std::max(end, segment.offset + segment.count);
  return end;
}

FloatView make_floats(const std::string& label, std::int64_t count) {
  return FloatView(label, static_cast<std::size_t>(count));
}

}  // namespace

TreeReducer::TreeReducer(Communicator& comm, std::int64_t num_floats, std::int64_t num_sums,
                         const Updaters& updaters)
    : GradientReducer(comm, num_floats, SumOrder::tree, num_sums),
      owners_(make_owners(comm, num_gradient(), updaters)),
      slices_(owners_ ? owners_->slices() : GradientSlices(num_floats, comm.size())),
      sums_(num_gradient(), num_sums, comm.rank(), comm.size()) {
  for (int rank = 0; rank < comm.size(); ++rank) {
    gather_counts_.push_back(slices_.count(rank) + num_votes(rank));
  }
}

// Once for each plan: with very many ranks it takes a while.
void TreeReducer::prepare_plan() {
  halvings_.emplace_back();
  if (owners_ || comm().size() == 1) return;
  halvings_.back() = make_lighter_halving(partitions().back(), num_floats() + 1, comm().rank());
}

TreeReducer::BufferSizes TreeReducer::buffer_sizes() const {
  BufferSizes sizes;
  if (comm().size() == 1) return sizes;
  for (std::size_t i = 0; i < halvings_.size(); ++i) {
    if (halvings_[i]) {
      sizes.received = std::max(
          sizes.received,
          HalvingExchange::received_floats(*halvings_[i], num_floats() + 1, comm().rank()));
      continue;
    }
    sizes.total = owners_ ? num_gradient() : num_floats() + 1;
    const Exchange exchange = make_exchange(partitions()[i]);
    sizes.received = std::max(sizes.received, extent(exchange.receive_from));
    if (exchange.num_partial_sums == 1) continue;
    sizes.packed = std::max(sizes.packed, extent(exchange.send_to));
  }
  return sizes;
}

std::int64_t TreeReducer::num_buffer_floats() const {
  const BufferSizes sizes = buffer_sizes();
  return private_partial_floats() + sizes.total + sizes.received + sizes.packed +
         (owners_ ? sums_.num_floats(max_partial_sums()) : 0);
}

FloatView TreeReducer::allocate_partial_sums() {
  const BufferSizes sizes = buffer_sizes();
  total_ = make_floats("quern::parallel::total", sizes.total);
  received_ = make_floats("quern::parallel::received", sizes.received);
  packed_ = make_floats("quern::parallel::packed", sizes.packed);
  if (owners_) sums_.allocate(partitions(), max_partial_sums());
  const FloatView partial_sums = allocate_private_partial_sums();
  for (std::size_t i = 0; i < halvings_.size(); ++i) {
    if (!halvings_[i]) {
      plans_.push_back(make_plan(partitions()[i]));
      continue;
    }
    plans_.emplace_back().halving = std::make_unique<HalvingExchange>(
        comm(), *halvings_[i], GradientSums{partial_sums, partial_stride()}, num_floats() + 1,
        received_, static_cast<int>(2 * i));
  }
  return partial_sums;
}

std::string TreeReducer::describe() const {
  const bool halves = !halvings_.empty() && halvings_.front().has_value();
  return GradientReducer::describe() + (halves ? ", by halving" : "");
}

std::int64_t TreeReducer::floats_sent(ReductionPlan plan) const {
  const std::optional<Halving>& halving = halvings_.at(static_cast<std::size_t>(plan));
  if (!halving) return GradientReducer::floats_sent(plan);
  return halving->floats_sent(num_floats() + 1);
}

// Slice d of P partial sums takes P * count(d) floats from P * begin(d) on, whether they lie in the
// only partial sum (P = 1) or packed; the vote is after the last slice, at P * num_floats.
TreeReducer::Exchange TreeReducer::make_exchange(const BatchPartition& partition) const {
  const int own = comm().rank();
  Exchange exchange;
  exchange.num_partial_sums = num_partial_sums(partition, own);
  std::int64_t received = 0;
  for (int rank = 0; rank < comm().size(); ++rank) {
    Segment send{exchange.num_partial_sums * slices_.begin(rank), 0};
    Segment receive{received, 0};
    if (rank != own) {
      send.count = exchange.num_partial_sums * slices_.count(rank) + num_votes(rank);
      receive.count = num_partial_sums(partition, rank) * slices_.count(own) + num_votes(own);
      received += receive.count;
      if (num_votes(own) == 1) exchange.votes.push_back(received - 1);
    }
    exchange.send_to.push_back(send);
    exchange.receive_from.push_back(receive);
  }
  return exchange;
}

TreeReducer::Plan TreeReducer::make_plan(const BatchPartition& partition) const {
  const int own = comm().rank();
  Plan plan{make_exchange(partition), {}, {}};
  plan.sum = make_tree_sum_plan(order(), partition, [&](int rank, std::int64_t partial) {
    if (rank == own) return ~(partial * partial_stride() + slices_.begin(own));
    return plan.receive_from[static_cast<std::size_t>(rank)].offset + partial * slices_.count(own);
  });
  return plan;
}

ReducedGradient TreeReducer::reduce(const ExecSpace& exec, ReductionPlan plan_id) {
  expect(!owners_, "a gradient for everybody");
  const Plan& plan = plans_.at(static_cast<std::size_t>(plan_id));
  if (comm().size() == 1) return reduced(partial_sums().data);
  if (plan.halving) {
    plan.halving->add(exec);
    return reduced(partial_sums().data);
  }
  send_partial_sums(exec, plan);
  add_own_slice(exec, plan);
  gather_slices();
  return reduced(total_);
}

ReducedGradient TreeReducer::reduce_own_part(const ExecSpace& exec, ReductionPlan plan_id) {
  if (!owners_) return reduce(exec, plan_id);
  const auto index = static_cast<std::size_t>(plan_id);
  const Plan& plan = plans_.at(index);
  sums_.pack(exec, partial_sums(), plan.num_partial_sums);
  send_partial_sums(exec, plan);
  add_own_slice(exec, plan);
  all_gather(exec, sums_.gathered());
  sums_.add(exec, index);
  return {total_, sums_.sums(), sums_.votes()};
}

std::vector<BlockRange> TreeReducer::ranges_of(int rank) const {
  return owners_ ? owners_->ranges_of(rank) : GradientReducer::ranges_of(rank);
}

void TreeReducer::publish_update(const ExecSpace& exec, const FloatView& parameters) {
  if (!owners_) return;
  exec.fence("quern::parallel::update_complete");
  owners_->gather(host_span(parameters));
}

void TreeReducer::send_partial_sums(const ExecSpace& exec, const Plan& plan) {
  const bool packs = plan.num_partial_sums != 1;
  if (packs)
    pack_slices(exec, partial_sums(), plan.num_partial_sums, slices_, comm().rank(), packed_);
  exec.fence("quern::parallel::partial_sums_complete");
  const std::span<float> send = host_span(packs ? packed_ : partial_sums().data);
  // The only partial sum has the vote after it already.
  if (packs && !owners_ && num_votes(comm().rank()) == 0) {
    const std::int64_t vote_place = plan.num_partial_sums * num_floats();
    send[static_cast<std::size_t>(vote_place)] = host_span(vote()).front();
  }
  comm().all_to_all_v(send, plan.send_to, host_span(received_), plan.receive_from);
}

void TreeReducer::add_own_slice(const ExecSpace& exec, const Plan& plan) {
  const int own = comm().rank();
  const auto own_slice = Kokkos::make_pair(slices_.begin(own), slices_.end(own));
  tree_sum(exec, plan.sum, received_, partial_sums().data, Kokkos::subview(total_, own_slice),
           slices_.count(own));
  exec.fence("quern::parallel::own_slice_complete");
  if (num_votes(own) == 0) return;
  const std::span<float> received = host_span(received_);
  float votes = host_span(vote()).front();
  for (const std::int64_t place : plan.votes) votes += received[static_cast<std::size_t>(place)];
  host_span(total_).back() = votes;
}

void TreeReducer::gather_slices() {
  const int own = comm().rank();
  const std::span<float> total = host_span(total_);
  const std::span<const float> mine =
      total.subspan(static_cast<std::size_t>(slices_.begin(own)),
                    static_cast<std::size_t>(gather_counts_[static_cast<std::size_t>(own)]));
  comm().all_gather_v(mine, total, gather_counts_);
}

}  // namespace quern

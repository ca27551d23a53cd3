// SPDX-License-Identifier: Apache-2.0
#include "parallel/bucket_reducer.hpp"

#include <algorithm>
#include <string>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "base/count_text.hpp"
#include "parallel/gradient_slices.hpp"
#include "tensor/float_span.hpp"

namespace quern {

namespace {

FloatView range(const FloatView& view, std::int64_t begin, std::int64_t end) {
  return Kokkos::subview(view, std::pair(begin, end));
}

FloatView make_floats(const char* label, std::int64_t count) {
  return FloatView(std::string(label), static_cast<std::size_t>(count));
}

}  // namespace

BucketReducer::BucketReducer(Communicator& comm, DeviceTransport& transport,
                             std::int64_t num_floats, SumOrder order, std::int64_t num_sums,
                             std::int64_t bucket_floats, const Updaters& updaters)
    : GradientReducer(comm, num_floats, order, num_sums),
      transport_(transport),
      updaters_(updaters),
      queue_(make_instance()),
      sums_(num_gradient(), num_sums, comm.rank(), comm.size()) {
  expect(transport.size() == comm.size() && transport.rank() == comm.rank(),
         "a transport between the ranks of the communicator");
  expect(bucket_floats >= 1, "buckets of at least one float");
  const std::int64_t unit = size() * (updaters.are_owners ? updaters.unit : kLanes);
  const std::int64_t step = round_up(bucket_floats, unit);
  const std::int64_t end = round_up(num_gradient(), unit);
  for (std::int64_t begin = 0; begin < end; begin += step) {
    buckets_.push_back({begin, std::min(begin + step, end)});
  }
  buckets_left_ = buckets_.size();
}

std::string BucketReducer::describe() const {
  if (size() == 1) return GradientReducer::describe();
  return std::string(transport_.name()) + ", " + std::to_string(size()) + " ranks, " +
         count_text(std::ssize(buckets_), "bucket") +
         (!partitions().empty() && order() == SumOrder::tree && halves(partitions().front())
              ? ", by halving"
              : "");
}

BucketReducer::BufferSizes BucketReducer::buffer_sizes() const {
  BufferSizes sizes;
  // The last slice of the last partial sum may end after it.
  const std::int64_t before_last =
      (with_reserve(max_partial_sums(comm().rank())) - 1) * partial_stride();
  sizes.partial_sums = before_last + std::max(partial_stride(), padded());
  if (size() == 1 || order() == SumOrder::ranks) return sizes;
  for (const BatchPartition& partition : partitions()) {
    if (halves(partition)) {
      for (const Bucket& bucket : buckets_)
        sizes.received =
            std::max(sizes.received, round_up_to_lanes(ceil_div(floats_of(bucket), 2)));
      continue;
    }
    sizes.total = padded();
    const int own_partial_sums = num_partial_sums(partition, comm().rank());
    for (const Bucket& bucket : buckets_) {
      for (const Segment& segment : make_exchange(partition, bucket).receive_from) {
        sizes.received = std::max(sizes.received, segment.offset + segment.count);
      }
      if (own_partial_sums == 1) continue;
      sizes.packed = std::max(sizes.packed, own_partial_sums * (bucket.end - bucket.begin));
    }
  }
  return sizes;
}

std::int64_t BucketReducer::num_buffer_floats() const {
  const BufferSizes sizes = buffer_sizes();
  const bool gathers = size() > 1 && order() == SumOrder::tree;
  return sizes.partial_sums + sizes.received + sizes.packed + sizes.total +
         (gathers ? sums_.num_floats(max_partial_sums()) : 0);
}

FloatView BucketReducer::allocate_partial_sums() {
  for (const BatchPartition& partition : partitions()) plans_.push_back(make_plan(partition));
  const BufferSizes sizes = buffer_sizes();
  if (size() > 1 && order() == SumOrder::tree) {
    received_ = make_floats("quern::parallel::received", sizes.received);
    packed_ = make_floats("quern::parallel::packed", sizes.packed);
    total_ = make_floats("quern::parallel::total", sizes.total);
    sums_.allocate(partitions(), max_partial_sums());
  }
  return make_floats("quern::parallel::partial_sums", sizes.partial_sums);
}

BucketReducer::Plan BucketReducer::make_plan(const BatchPartition& partition) const {
  Plan plan;
  plan.num_partial_sums = num_partial_sums(partition, comm().rank());
  if (order() == SumOrder::ranks) return plan;
  plan.halves = halves(partition);
  for (const Bucket& bucket : buckets_) {
    if (plan.halves) {
      plan.buckets.emplace_back().rounds = make_rounds(partition, bucket);
    } else {
      plan.buckets.push_back(make_bucket_plan(partition, bucket));
    }
  }
  return plan;
}

// Inside a node devices are connected pair by pair, and an exchange with all of them takes no
// longer than one with the next. The first bucket is the largest one.
bool BucketReducer::halves(const BatchPartition& partition) const {
  if (updaters_.are_owners || comm().node_size() == size() || !transport_.moves_segments_alone())
    return false;
  const auto halving = make_lighter_halving(partition, floats_of(buckets_.front()), comm().rank());
  return halving && halving->has_only_rounds;
}

std::vector<BucketReducer::Round> BucketReducer::make_rounds(const BatchPartition& partition,
                                                             const Bucket& bucket) const {
  std::vector<Round> rounds;
  const Halving halving = make_halving(partition, floats_of(bucket), comm().rank());
  for (const HalvingRound& round : halving.rounds) {
    rounds.push_back({round, round.take});
    for (RankSegment& segment : rounds.back().into) segment.offset = 0;
  }
  return rounds;
}

// Slice d of P partial sums takes P * slice floats from P * d * slice on, whether they lie in the
// only partial sum or packed.
BucketReducer::BucketExchange BucketReducer::make_exchange(const BatchPartition& partition,
                                                           const Bucket& bucket) const {
  const int own = comm().rank();
  const std::int64_t own_partial_sums = num_partial_sums(partition, own);
  const std::int64_t count = slice(bucket);
  BucketExchange exchange;
  std::int64_t received = 0;
  for (int rank = 0; rank < size(); ++rank) {
    const bool moves = rank != own;
    exchange.send_to.push_back(
        {own_partial_sums * rank * count, moves ? own_partial_sums * count : 0});
    exchange.receive_from.push_back(
        {received, moves ? num_partial_sums(partition, rank) * count : 0});
    received += exchange.receive_from.back().count;
  }
  return exchange;
}

BucketReducer::BucketPlan BucketReducer::make_bucket_plan(const BatchPartition& partition,
                                                          const Bucket& bucket) const {
  const int own = comm().rank();
  const std::int64_t count = slice(bucket);
  BucketPlan plan{make_exchange(partition, bucket), {}, {}};
  plan.sum = make_tree_sum_plan(order(), partition, [&](int rank, std::int64_t partial) {
    if (rank == own) return ~(partial * partial_stride() + bucket.begin + own * count);
    return plan.receive_from[static_cast<std::size_t>(rank)].offset + partial * count;
  });
  return plan;
}

void BucketReducer::complete_from(const ExecSpace& exec, ReductionPlan plan_id,
                                  std::int64_t offset) {
  if (size() == 1) return;
  const bool has_sums = !sums_started_ && offset <= num_gradient();
  const bool has_bucket = buckets_left_ > 0 && buckets_[buckets_left_ - 1].begin >= offset;
  if (!has_sums && !has_bucket) return;
  const Plan& plan = plans_.at(static_cast<std::size_t>(plan_id));
  computed_.order(exec, queue(exec));
  if (has_sums) start_sums(queue(exec), plan_id);
  while (buckets_left_ > 0 && buckets_[buckets_left_ - 1].begin >= offset) {
    start_bucket(queue(exec), plan, --buckets_left_);
  }
}

ReducedGradient BucketReducer::reduce(const ExecSpace& exec, ReductionPlan plan) {
  if (size() == 1) return reduced(partial_sums().data);
  complete_from(exec, plan, 0);
  exchanged_.order(queue(exec), exec);
  sums_started_ = false;
  buckets_left_ = buckets_.size();
  if (order() == SumOrder::ranks) return reduced(partial_sums().data);
  const bool is_in_place = plans_[static_cast<std::size_t>(plan)].halves;
  return {range(is_in_place ? partial_sums().data : total_, 0, num_gradient()), sums_.sums(),
          sums_.votes()};
}

// No bucket travels.
ConstFloatView BucketReducer::reduce_sums(const ExecSpace& exec, ReductionPlan plan) {
  if (size() == 1) return reduced(partial_sums().data).sums;
  computed_.order(exec, queue(exec));
  start_sums(queue(exec), plan);
  exchanged_.order(queue(exec), exec);
  sums_started_ = false;
  return order() == SumOrder::tree ? sums_.sums() : reduced(partial_sums().data).sums;
}

std::vector<BlockRange> BucketReducer::ranges_of(int rank) const {
  if (!updaters_.are_owners) return GradientReducer::ranges_of(rank);
  std::vector<BlockRange> ranges;
  for (const Bucket& bucket : buckets_) {
    const std::int64_t begin = bucket.begin + rank * slice(bucket);
    const std::int64_t end = std::min(begin + slice(bucket), num_gradient());
    if (begin < end) ranges.push_back({begin, end});
  }
  return ranges;
}

// Buckets may end after the gradient.
std::int64_t BucketReducer::num_published() const {
  return updaters_.are_owners ? padded() : num_gradient();
}

void BucketReducer::publish_update(const ExecSpace& exec, const FloatView& parameters) {
  if (!spreads_state()) return;
  for (const Bucket& bucket : buckets_)
    transport_.all_gather(float_span(parameters, bucket.begin, bucket.end - bucket.begin),
                          stream_of(exec));
}

void BucketReducer::all_gather(const ExecSpace& exec, const FloatView& all) {
  transport_.all_gather(float_span(all), stream_of(exec));
}

void BucketReducer::wait(const ExecSpace& exec) {
  if (size() == 1) return GradientReducer::wait(exec);
  wait_on_all(comm(), exec, &transport_);
}

void BucketReducer::start_sums(const ExecSpace& queue, ReductionPlan plan_id) {
  sums_started_ = true;
  const auto index = static_cast<std::size_t>(plan_id);
  const Plan& plan = plans_[index];
  const FloatView& data = partial_sums().data;
  if (order() == SumOrder::ranks) {
    if (plan.num_partial_sums == 0) Kokkos::deep_copy(queue, range(data, 0, num_floats()), 0.0f);
    transport_.all_reduce_sum(float_span(data, num_gradient(), num_sums() + 1), stream_of(queue));
    return;
  }
  sums_.pack(queue, partial_sums(), plan.num_partial_sums);
  transport_.all_gather(float_span(sums_.gathered()), stream_of(queue));
  sums_.add(queue, index);
}

void BucketReducer::start_bucket(const ExecSpace& queue, const Plan& plan, std::size_t bucket) {
  if (order() == SumOrder::tree && plan.halves) return halve(queue, plan, bucket);
  if (order() == SumOrder::tree) return exchange_in_tree_order(queue, plan, bucket);
  const std::int64_t begin = buckets_[bucket].begin;
  const std::int64_t end = std::min(buckets_[bucket].end, num_gradient());
  transport_.all_reduce_sum(float_span(partial_sums().data, begin, end - begin), stream_of(queue));
}

void BucketReducer::halve(const ExecSpace& queue, const Plan& plan, std::size_t bucket) {
  const std::int64_t begin = buckets_[bucket].begin;
  const FloatView own = range(partial_sums().data, begin, begin + floats_of(buckets_[bucket]));
  const std::vector<Round>& rounds = plan.buckets[bucket].rounds;
  for (const Round& round : rounds) {
    transport_.send_and_receive(float_span(own), round.give, float_span(received_), round.into,
                                stream_of(queue));
    for (const RankSegment& taken : round.take)
      add_to(queue, range(own, taken.offset, taken.offset + taken.count),
             range(received_, 0, taken.count));
  }
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round)
    transport_.send_and_receive(float_span(own), round->take, float_span(own), round->give,
                                stream_of(queue));
}

void BucketReducer::exchange_in_tree_order(const ExecSpace& queue, const Plan& plan,
                                           std::size_t bucket) {
  const Bucket& place = buckets_[bucket];
  const BucketPlan& exchange = plan.buckets[bucket];
  const FloatView& data = partial_sums().data;
  const int own = comm().rank();
  const bool packs = plan.num_partial_sums != 1;
  if (packs && plan.num_partial_sums > 0) {
    const GradientSums from{range(data, place.begin, static_cast<std::int64_t>(data.extent(0))),
                            partial_stride()};
    pack_slices(queue, from, plan.num_partial_sums, GradientSlices(place.end - place.begin, size()),
                own, packed_);
  }
  const std::span<float> send =
      packs ? float_span(packed_, 0, static_cast<std::int64_t>(packed_.extent(0)))
            : float_span(data, place.begin, place.end - place.begin);
  transport_.all_to_all_v(send, exchange.send_to, {received_.data(), received_.extent(0)},
                          exchange.receive_from, stream_of(queue));
  const std::int64_t begin = place.begin + own * slice(place);
  tree_sum(queue, exchange.sum, received_, data, range(total_, begin, begin + slice(place)),
           slice(place));
  if (updaters_.are_owners) return;
  transport_.all_gather(float_span(total_, place.begin, place.end - place.begin), stream_of(queue));
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/device_transport.hpp"
#include "parallel/device_stream.hpp"
#include "parallel/gathered_sums.hpp"
#include "parallel/gradient_reducer.hpp"
#include "parallel/halving.hpp"
#include "parallel/owner_slices.hpp"
#include "parallel/tree_sum.hpp"

namespace quern {

/// Gradients in device memory: cut into buckets that travel on a queue of their own while the
/// backward pass still computes. Nothing waits on the host, so the whole can be captured if the
/// transport can.
///
///   compute   ... loss | backward of the last layers | ... | backward of the first | update
///   exchange           | sums, votes | bucket n-1 | ...            | bucket 0      |
///
/// SumOrder::tree, per bucket, between nodes where every rank has one partial sum: by halving.hpp,
/// in place. Else (1) every rank sends each owner that slice of its partial sums, (2) the owner
/// adds the partial sums of all ranks in the order of the fixed tree, (3) the slices go to
/// everybody; the transport moves floats and adds none, so the bits are those of TreeReducer. The
/// sums and votes, a few floats, go to everybody, who adds them for itself. SumOrder::ranks: one
/// all-reduce per bucket, in place, in the transport's order. One rank: `total` is the partial sum,
/// nothing moves. With owners the slices of (2) stay where they are, and after the update those of
/// the parameters go to everybody, bucket after bucket. Backward fills the gradient from its end,
/// so the buckets go from last to first.
class BucketReducer final : public GradientReducer {
 public:
  /// Two exchanges cost more than one of twice the size until a bucket takes as long to move as to
  /// start: small networks are one bucket.
  static constexpr std::int64_t kBucketFloats = std::int64_t{1} << 20;

  /// `transport` connects the ranks of `comm`; both must outlive it.
  BucketReducer(Communicator& comm, DeviceTransport& transport, std::int64_t num_floats,
                SumOrder order, std::int64_t num_sums = 0,
                std::int64_t bucket_floats = kBucketFloats, const Updaters& updaters = {});

  void complete_from(const ExecSpace& exec, ReductionPlan plan, std::int64_t offset) override;
  ReducedGradient reduce(const ExecSpace& exec, ReductionPlan plan) override;
  ConstFloatView reduce_sums(const ExecSpace& exec, ReductionPlan plan) override;
  std::vector<BlockRange> ranges_of(int rank) const override;
  bool spreads_state() const override { return updaters_.are_owners && size() > 1; }
  std::int64_t num_published() const override;
  void publish_update(const ExecSpace& exec, const FloatView& parameters) override;
  void all_gather(const ExecSpace& exec, const FloatView& all) override;
  bool is_capturable() const override { return size() == 1 || transport_.is_capturable(); }
  void wait(const ExecSpace& exec) override;
  std::string describe() const override;

 private:
  // The floats [begin, end) of the gradient; a slice for each rank, all of one size, so that the
  // last bucket may end after the gradient.
  struct Bucket {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  struct Round : HalvingRound {
    std::vector<RankSegment> into;  // where what is taken comes in, in received_
  };
  // What SumOrder::tree does with a bucket under one plan.
  struct BucketExchange {
    std::vector<Segment> send_to;  // in the only partial sum from the bucket on, else in packed_
    std::vector<Segment> receive_from;  // in received_
  };
  struct BucketPlan : BucketExchange {
    TreeSumPlan sum;
    std::vector<Round> rounds;  // in place of the rest; floats count from the bucket's first
  };
  struct Plan {
    int num_partial_sums = 0;  // of this rank
    bool halves = false;
    std::vector<BucketPlan> buckets;
  };

  // Floats of the buffers.
  struct BufferSizes {
    std::int64_t partial_sums = 0;
    std::int64_t received = 0;
    std::int64_t packed = 0;
    std::int64_t total = 0;
  };

  FloatView allocate_partial_sums() override;
  std::int64_t num_buffer_floats() const override;
  BufferSizes buffer_sizes() const;
  bool halves(const BatchPartition& partition) const;
  std::vector<Round> make_rounds(const BatchPartition& partition, const Bucket& bucket) const;
  std::int64_t floats_of(const Bucket& bucket) const {
    return std::min(bucket.end, num_gradient()) - bucket.begin;
  }
  BucketExchange make_exchange(const BatchPartition& partition, const Bucket& bucket) const;
  Plan make_plan(const BatchPartition& partition) const;
  BucketPlan make_bucket_plan(const BatchPartition& partition, const Bucket& bucket) const;
  std::int64_t slice(const Bucket& bucket) const { return (bucket.end - bucket.begin) / size(); }
  std::int64_t padded() const { return buckets_.back().end; }
  int size() const { return comm().size(); }
  // Host back ends have one queue: the caller's.
  const ExecSpace& queue(const ExecSpace& exec) const { return kHostExecution ? exec : queue_; }

  void start_sums(const ExecSpace& queue, ReductionPlan plan);
  void start_bucket(const ExecSpace& queue, const Plan& plan, std::size_t bucket);
  void halve(const ExecSpace& queue, const Plan& plan, std::size_t bucket);
  void exchange_in_tree_order(const ExecSpace& queue, const Plan& plan, std::size_t bucket);

  DeviceTransport& transport_;
  Updaters updaters_;
  ExecSpace queue_;
  StreamMark computed_;
  StreamMark exchanged_;
  std::vector<Bucket> buckets_;
  std::vector<Plan> plans_;

  // Of the step under way.
  bool sums_started_ = false;
  std::size_t buckets_left_ = 0;  // not started; the first ones

  GatheredSums sums_;
  FloatView packed_;    // a bucket's slices of several partial sums, in the order of sending
  FloatView received_;  // the other ranks' partial sums of this rank's slice of a bucket
  FloatView total_;     // padded()
};

}  // namespace quern

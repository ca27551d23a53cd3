// SPDX-License-Identifier: Apache-2.0
#include "strategy/epoch_batches.hpp"

#include <algorithm>

namespace quern {

namespace {

std::vector<int> shares_of(const BatchPartition& partition) {
  std::vector<int> shares;
  for (int rank = 0; rank < partition.num_ranks(); ++rank)
    shares.push_back(partition.num_blocks(rank));
  return shares;
}

}  // namespace

EpochBatches::EpochBatches(const BatchRule& rule, int row_multiple, const Worker& worker)
    : rule_(rule), cut_(rule.cut(row_multiple)), worker_(worker) {
  const BatchPartition equal(rule.full_batch, cut_.block_samples, worker.num_ranks);
  full_ = &full_by_shares_.emplace(shares_of(equal), make_batch(equal)).first->second;
  last_ = make_batch({rule.last_batch, cut_.block_samples, worker.num_ranks});
}

PlannedBatch EpochBatches::make_batch(const BatchPartition& partition) const {
  PlannedBatch batch;
  batch.plan = make_batch_plan(cut_, partition, worker_.rank);
  batch.pieces = make_batch_pieces(cut_, batch.plan, worker_.rank);
  batch.order = pipeline_order(worker_.schedule, worker_.stage, batch.num_pieces());
  return batch;
}

StepRoom EpochBatches::room(int most_blocks) const {
  StepRoom room{full().plan.limit()};
  room.limit.rows = std::max(room.limit.rows, most_blocks * full().plan.schedule.block_rows);
  for (const PlannedBatch* batch : {&full(), &last_}) {
    const int pieces = pieces_in_flight(worker_.schedule, worker_.stage, batch->num_pieces());
    room.in_flight = std::max(room.in_flight, pieces);
  }
  return room;
}

int EpochBatches::most_partial_sums() const {
  int most = most_piece_sums();
  for (const PlannedBatch* batch : {&full(), &last_})
    for (int rank = 0; rank < worker_.num_ranks; ++rank)
      most = std::max(most, num_partial_sums(cut_.sum_order(), batch->plan.partition, rank));
  return most;
}

int EpochBatches::most_piece_sums() const {
  return std::max(quern::most_piece_sums(cut_, full().plan.partition),
                  quern::most_piece_sums(cut_, last_.plan.partition));
}

void EpochBatches::plan_reductions(const AddPlan& add_plan) {
  for (PlannedBatch* batch : {full_, &last_}) batch->reduction = add_plan(batch->plan.partition);
}

// Rare, and the only place where a plan is made within the loop.
void EpochBatches::take_shares(const std::vector<int>& shares, const AddPlan& add_plan) {
  const auto [place, is_new] = full_by_shares_.try_emplace(shares);
  PlannedBatch& batch = place->second;
  if (is_new) {
    batch = make_batch({rule_.full_batch, cut_.block_samples, shares});
    batch.reduction = add_plan(batch.plan.partition);
  }
  full_ = &batch;
}

}  // namespace quern

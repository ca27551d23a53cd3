// SPDX-License-Identifier: Apache-2.0
#include "bench/step_demand.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "loss/loss.hpp"
#include "optim/optimizer.hpp"
#include "parallel/piece_sums.hpp"
#include "parallel/tree_sum.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/model.hpp"
#include "train/recipe_check.hpp"

namespace quern {

namespace {

// There are samples for full batches.
BatchPartition full_batch(const Recipe& recipe, int ranks) {
  const BatchRule batches = training_batches(recipe, ranks, kMaxGlobalBatch);
  check_batch_for_ranks(batches.full_batch, ranks);
  const BatchPartition partition(batches.full_batch, batches.block_samples, ranks);
  if (partition.num_blocks() > BlockSchedule::kMaxBlocks) {
    throw InputError("a batch of " + std::to_string(batches.full_batch) +
                     " samples has more than " + std::to_string(BlockSchedule::kMaxBlocks) +
                     " micro-blocks (raise train.micro_block or take a smaller batch)");
  }
  return partition;
}

}  // namespace

StepDemands::StepDemands(const Recipe& recipe) : model_(std::make_unique<const Model>(recipe)) {}

StepDemands::~StepDemands() = default;

double StepDemands::training_flop() const {
  return 2.0 * static_cast<double>(model_->network().training_macs());
}

std::int64_t StepDemands::num_parameters() const {
  return model_->network().table().num_parameters();
}

StepDemand StepDemands::of(const Recipe& recipe, int ranks) const {
  const BatchPartition partition = full_batch(recipe, ranks);
  StepDemand demand;
  demand.ranks = ranks;
  demand.global_batch = partition.samples();
  demand.samples = partition.num_samples(0);
  demand.blocks = partition.num_blocks();
  demand.block_samples = partition.block_size();
  const SumOrder order =
      recipe.train.determinism == Determinism::fast ? SumOrder::ranks : SumOrder::tree;
  for (int rank = 0; rank < ranks; ++rank) {
    const int sums = num_partial_sums(order, partition, rank);
    demand.partial_sums = std::max(demand.partial_sums, sums);
    demand.all_partial_sums += sums;
    if (partition.num_blocks(rank) == 0) ++demand.idle_ranks;
  }
  demand.floats = model_->network().table().reduced_size() + Loss::kColumns;
  for (const Layer* layer : model_->network().layers())
    demand.batch_sums += static_cast<int>(layer->batch_sums().size());
  return demand;
}

std::int64_t StepDemands::memory_bytes(const Recipe& recipe, int ranks) const {
  const StepDemand demand = of(recipe, ranks);
  const ParameterTable& table = model_->network().table();
  const bool is_tree = demand.determinism == Determinism::rank_invariant && ranks > 1;
  const std::int64_t sharers = recipe.parallel.shard_optimizer ? ranks : 1;
  std::int64_t floats = table.block_size() + demand.partial_sums * demand.floats;
  floats += num_state_arrays(recipe.optimizer) * table.trained_size() / sharers;
  if (is_tree) {  // the sum, and the others' parts of this rank's slice
    floats += demand.floats + demand.all_partial_sums * demand.floats / ranks;
    if (demand.partial_sums > 1) floats += demand.partial_sums * demand.floats;
  }
  const int multiple = model_->row_multiple();
  const int block_rows = (demand.block_samples + multiple - 1) / multiple * multiple;
  const int blocks = piece_blocks(full_batch(recipe, ranks), recipe.parallel.micro_batches);
  return model_->activation_bytes({blocks * block_rows, block_rows}) +
         floats * std::int64_t{sizeof(float)};
}

}  // namespace quern

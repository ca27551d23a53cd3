// SPDX-License-Identifier: Apache-2.0
#include "plan/step_demand.hpp"

#include <algorithm>
#include <string>

#include "base/ceil_div.hpp"
#include "base/error.hpp"
#include "loss/loss.hpp"
#include "optim/optimizer.hpp"
#include "optim/trust_ratios.hpp"
#include "parallel/make_reducer.hpp"
#include "parallel/piece_sums.hpp"
#include "parallel/tree_sum.hpp"
#include "state/snapshot.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/model.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/tensor_plan.hpp"
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

/// Rows of a piece of the rank that has most.
BatchLimit piece_limit(const Recipe& recipe, const StepDemand& demand, int row_multiple) {
  const int block_rows = round_up(demand.block_samples, row_multiple);
  const int blocks =
      piece_blocks(full_batch(recipe, demand.data_ranks()), recipe.parallel.micro_batches);
  return {blocks * block_rows, block_rows};
}

/// Multiply-adds of a training step with one sample that a rank does by itself, of the layers that
/// it shares its part.
double own_macs(const Network& network) {
  double total = 0;
  for (const Node& node : network.graph().nodes()) {
    if (!node.layer) continue;
    const bool wants_gradient = network.graph().value(node.inputs[0]).wants_gradient;
    const int passes = 1 + (node.first_parameter >= 0 ? 1 : 0) + (wants_gradient ? 1 : 0);
    total += passes * static_cast<double>(node.layer->macs());
  }
  return total;
}

bool is_split(const Recipe& recipe) {
  return recipe.parallel.pipeline > 1 || recipe.parallel.tensor > 1;
}

}  // namespace

StepDemands::StepDemands(const Recipe& recipe) : whole_(std::make_unique<const Model>(recipe)) {
  const ParallelSpec& parallel = recipe.parallel;
  const TensorSlices slices{tensor_slices(recipe), parallel.tensor, 0};
  for (int stage = 0; stage < parallel.pipeline; ++stage) {
    stages_.push_back(
        std::make_unique<const Model>(recipe, StagePlace{stage, parallel.pipeline}, slices));
  }
}

StepDemands::~StepDemands() = default;

double StepDemands::training_flop() const {
  return 2.0 * static_cast<double>(whole_->network().training_macs());
}

std::int64_t StepDemands::num_parameters() const {
  return whole_->network().table().num_parameters();
}

double StepDemands::sample_bytes() const {
  double floats = 0;
  for (const Layer* layer : whole_->network().layers())
    floats += 3.0 * layer->input_shape().units() + 2.0 * layer->output_shape().units();
  return floats * kFloatBytes;
}

double StepDemands::parameter_bytes(const Recipe& recipe) const {
  // Read forward, backward and by the update; its gradient written and read; written.
  constexpr int kTouches = 6;
  const OptimizerSpec& optimizer = recipe.optimizer;
  const double state = 2.0 * num_state_arrays(optimizer) + 3.0 * num_scratch_arrays(optimizer);
  const double norms = TrustRatios::are_needed(optimizer) ? 2 : 0;
  return (kTouches + state + norms) * kFloatBytes *
         static_cast<double>(whole_->network().table().trained_size());
}

StepDemand StepDemands::of(const Recipe& recipe, int ranks, int ranks_per_node,
                           double shared_bytes) const {
  const GridShape grid = grid_shape_of(recipe, ranks);
  const BatchPartition partition = full_batch(recipe, grid.data);
  StepDemand demand;
  demand.ranks = ranks;
  demand.tensor = grid.tensor;
  demand.global_batch = partition.samples();
  demand.samples = partition.num_samples(0);
  demand.blocks = partition.num_blocks();
  demand.block_samples = partition.block_size();
  demand.determinism = recipe.train.determinism;
  demand.shards_optimizer = recipe.parallel.shard_optimizer;
  const SumOrder order =
      recipe.train.determinism == Determinism::fast ? SumOrder::ranks : SumOrder::tree;
  for (int rank = 0; rank < grid.data; ++rank) {
    const int sums = num_partial_sums(order, partition, rank);
    demand.partial_sums = std::max(demand.partial_sums, sums);
    demand.all_partial_sums += sums;
    if (partition.num_blocks(rank) == 0) ++demand.idle_ranks;
  }
  const int blocks = piece_blocks(partition, recipe.parallel.micro_batches);
  demand.pieces = ceil_div(partition.max_blocks(), blocks);
  for (const Layer* layer : whole_->network().layers())
    demand.batch_sums += static_cast<int>(layer->batch_sums().size());
  if (is_split(recipe)) demand.stages.resize(stages_.size());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const StageDemand stage = of_stage(recipe, demand, i);
    demand.floats = std::max(demand.floats, stage.floats);
    if (!demand.stages.empty()) demand.stages[i] = stage;
  }
  if (order == SumOrder::tree) {
    // Of a stage every `tensor`-th rank adds the same part of the gradient.
    const int neighbours = std::max(1, ranks_per_node / grid.tensor);
    if (const auto halving = make_lighter_halving(partition, demand.floats + 1, 0, neighbours)) {
      demand.halving = halving->load;
      demand.gathers_leaves = !halving->has_only_rounds;
    }
  }
  const SharedNeeds needs{demand.partial_sums, grid.pipeline * grid.tensor};
  demand.shares_state = kHostExecution && shared_bytes > 0 &&
                        shared_bytes >= wanted_shared_bytes(grid.data, demand.floats, needs);
  for (std::size_t i = 0; i < demand.stages.size(); ++i)
    demand.stages[i].memory_bytes = memory_of(recipe, demand, i);
  return demand;
}

StageDemand StepDemands::of_stage(const Recipe& recipe, const StepDemand& demand,
                                  std::size_t stage) const {
  const Model& model = *stages_[stage];
  const StageInfo& info = model.stages()[stage];
  StageDemand result;
  result.first_layer = info.first_layer;
  result.last_layer = info.last_layer;
  result.work = own_macs(model.network()) / own_macs(whole_->network());
  result.floats = model.network().table().reduced_size() + Loss::kColumns;
  const BatchLimit piece = piece_limit(recipe, demand, model.row_multiple());
  const CrossingFloats crossing =
      crossing_floats(model.stages(), static_cast<int>(stage), piece.rows);
  result.sent_forward = kFloatBytes * static_cast<double>(crossing.y);
  result.sent_backward = kFloatBytes * static_cast<double>(crossing.dx);
  if (demand.tensor == 1) return result;
  // An output is gathered; an input's gradient goes to who adds it, and is gathered.
  for (const ExchangedFloats& layer : model.network().exchanged_floats(piece.rows))
    result.exchanges += (layer.gathered > 0 ? 1 : 0) + (layer.summed > 0 ? 2 : 0);
  result.exchanged_bytes = static_cast<double>(tensor_plan(model, piece.rows).sent_bytes);
  return result;
}

std::int64_t StepDemands::memory_of(const Recipe& recipe, const StepDemand& demand,
                                    std::size_t stage) const {
  const Model& model = *stages_[stage];
  const ParameterTable& table = model.network().table();
  const std::int64_t own = table.reduced_size() + Loss::kColumns;
  const int ranks = demand.data_ranks();
  // What the ranks of one node have together.
  const std::int64_t holders = demand.shares_state ? ranks : 1;
  const bool is_tree = demand.determinism == Determinism::rank_invariant && holders < ranks;
  const std::int64_t sharers = recipe.parallel.shard_optimizer ? ranks : holders;
  std::int64_t floats = ceil_div(table.block_size(), holders) + demand.partial_sums * own;
  const int arrays = num_state_arrays(recipe.optimizer) + num_scratch_arrays(recipe.optimizer);
  floats += arrays * ceil_div(table.trained_size(), sharers);
  if (holders > 1) floats += ceil_div(own, holders);  // the sum
  if (is_tree) {  // the sum, and the others' parts of this rank's slice
    floats += own + demand.all_partial_sums * own / ranks;
    if (demand.partial_sums > 1) floats += demand.partial_sums * own;
  }
  const int in_flight = pieces_in_flight(recipe.parallel.schedule, model.place(), demand.pieces);
  return model.activation_bytes(piece_limit(recipe, demand, model.row_multiple()), in_flight) +
         floats * std::int64_t{sizeof(float)};
}

std::int64_t StepDemands::memory_bytes(const Recipe& recipe, const StepDemand& demand) const {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < stages_.size(); ++i)
    most = std::max(most, memory_of(recipe, demand, i));
  return most;
}

std::int64_t StepDemands::checkpoint_copy_bytes(const Recipe& recipe) const {
  return snapshot_bytes(whole_->network().table(), num_state_arrays(recipe.optimizer));
}

std::int64_t StepDemands::collected_bytes(const Recipe& recipe) const {
  return (recipe.parallel.shard_optimizer ? 2 : 1) * snapshot_bytes(whole_->network().table(), 0);
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "strategy/training_step.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "parallel/device_stream.hpp"
#include "parallel/make_reducer.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/sample_stream.hpp"
#include "strategy/step_kernels.hpp"

namespace quern {

void TrainingStep::enqueue_batch(const ExecSpace& exec, const PlannedBatch& batch) {
  StepBalance* balance = balance_ && &batch == &batches_->full() ? &*balance_ : nullptr;
  if (balance) balance->begin_step();
  timer_.enter(StepPhase::data);
  set_learning_rate(exec, counters_.scalars(), schedule_);
  counters_.begin_batch(exec, batch.samples(), reducer_->vote());
  for (const PipelineWork& work : batch.order) {
    if (work.is_backward)
      enqueue_backward(exec, batch, work.piece);
    else
      enqueue_forward(exec, batch, work.piece);
  }
  if (balance) balance->end_computing(exec);
  const ReducedGradient gradient = reduce(exec, batch.reduction);
  if (balance) balance->end_reduction();
  timer_.enter(StepPhase::update);
  update(exec, gradient);
  counters_.end_batch(exec, batch.samples(), gradient);
  timer_.stop();
  if (balance && balance->end_step()) take_shares(balance->shares());
}

void TrainingStep::enqueue_forward(const ExecSpace& exec, const PlannedBatch& batch, int number) {
  const BatchPiece& piece = batch.piece(number);
  const int slot = slot_of(number);
  const StepContext step = context(batch, piece, slot);
  timer_.enter(StepPhase::data);
  model_.load_batch(exec, piece.plan, samples_, sampling_, counters_.scalars(), slot);
  timer_.enter(StepPhase::forward);
  model_.forward(exec, step, samples_, slot);
}

// To the gradients of some of this rank's blocks.
void TrainingStep::enqueue_backward(const ExecSpace& exec, const PlannedBatch& batch, int number) {
  const BatchPiece& piece = batch.piece(number);
  const int slot = slot_of(number);
  StepContext step = context(batch, piece, slot);
  const bool is_whole = batch.num_pieces() == 1;
  // The sums of several pieces are complete when the last one is merged. And exchanges of two
  // groups of ranks must not be under way on a device at once: NCCL may wait for ever.
  const bool is_early = is_whole && !transports_.tensor;
  const auto complete_from = [&](std::int64_t offset) {
    if (is_early) reducer_->complete_from(exec, batch.reduction, offset);
  };

  timer_.enter(StepPhase::forward);
  model_.network().store_statistics(exec, step, model_.activations(slot));
  model_.compute_loss(exec, step, samples_, step.gradients, sums_offset(), slot);
  complete_from(sums_offset());
  timer_.enter(StepPhase::backward);
  if (update_->is_left_to_layers())
    step.update =
        update_->begin_update(exec, counters_.scalars(), model_.parameters(), loss_sums());
  model_.backward(exec, step, complete_from, slot);
  timer_.enter(StepPhase::reduction);
  has_packed_weights_ = static_cast<bool>(step.update);
  if (wants_rank_loss_ && model_.place().is_last()) {
    add_rank_loss(exec, model_.loss().row_values(), piece.plan, counters_.metric_sums());
    if (number + 1 == batch.num_pieces())
      end_rank_loss(exec, batch.plan.num_samples, counters_.metric_sums());
  }
  if (!is_whole) {
    merge_sums(exec, reducer_->partial_sums(), reducer_->num_floats(), piece.sums);
  }
}

// Over the ranks with this stage; then what all stages need to know.
ReducedGradient TrainingStep::reduce(const ExecSpace& exec, ReductionPlan plan) {
  if (update_->is_left_to_reducer()) {
    return reducer_->reduce_and_update(
        exec, plan, model_.network().table().trained_size(), [&](const ConstFloatView& sums) {
          timer_.enter(StepPhase::update);
          return update_->begin_update(exec, counters_.scalars(), model_.parameters(), sums);
        });
  }
  const ReducedGradient own = update_->needs_whole_gradient()
                                  ? reducer_->reduce(exec, plan)
                                  : reducer_->reduce_own_part(exec, plan);
  if (is_split()) {  // with an eye on others, as stage_sums_ does not
    await_ranks(grid_.world(), transports_);
    wait_for(exec, transports_);
  }
  return stage_sums_.add(exec, own);
}

void TrainingStep::update(const ExecSpace& exec, const ReducedGradient& gradient) {
  update_->update(exec, counters_.scalars(), model_.parameters(), gradient);
  reducer_->publish_update(exec, model_.parameter_block());
}

StepContext TrainingStep::context(const PlannedBatch& batch, const BatchPiece& piece, int slot) {
  StepContext step = model_.context(piece.plan, Mode::train, counters_.scalars(),
                                    sums_of_piece(reducer_->partial_sums(), piece.sums), slot);
  step.has_packed_weights = has_packed_weights_;
  layer_sums_->begin_batch(batch.reduction);
  step.batch_sums = layer_sums_.get();
  return step;
}

// Of a rank that has the whole batch.
ConstFloatView TrainingStep::loss_sums() const {
  return Kokkos::subview(reducer_->partial_sums().data,
                         std::pair(sums_offset(), sums_offset() + Loss::kColumns));
}

void TrainingStep::enqueue(const ExecSpace& exec, bool vote_to_stop) {
  const PlannedBatch& batch = batches_->at(counters_.cursor());
  enqueued_ = &batch;
  timer_.enter(StepPhase::data);
  await_samples(exec);
  wait_now_and_then(exec);
  const bool has_failed = samples_.stream && samples_.stream->has_failed();
  counters_.vote(vote_to_stop || has_failed);
  const auto work = [&] { enqueue_batch(exec, batch); };
  if (is_recorded()) {
    (&batch == &batches_->last() ? last_graph_ : full_graph_).run(exec, work);
  } else {
    work();
  }
  counters_.move_on(batch.samples());
}

void TrainingStep::await_samples(const ExecSpace& exec) {
  if (!samples_.stream) return;
  if (samples_.stream->hands_back(counters_.epoch(), counters_.cursor())) wait(exec);
  samples_.stream->prepare(counters_.epoch(), counters_.cursor());
}

void TrainingStep::wait(const ExecSpace& exec) {
  if (!is_split() && transports_.are_none()) {
    reducer_->wait(exec);
    return check_launches();
  }
  wait_on_all(grid_.world(), exec, transports_, [this] { return counters_.batches_ended(); });
}

void TrainingStep::wait_now_and_then(const ExecSpace& exec) {
  if (transports_.are_none() || is_recorded()) return;
  constexpr int kKernelsOfALayer = 4;  // forward, and backward to its input and its weights
  const std::int64_t kernels =
      kKernelsOfALayer * batches_->cut().micro_batches * std::ssize(model_.whole().graph().nodes());
  if (unseen_steps_++ < batches_unseen(kernels)) return;
  wait(exec);
  unseen_steps_ = 1;
}

StepReport TrainingStep::read(const ExecSpace& exec) {
  wait(exec);
  return counters_.report();
}

StepReport TrainingStep::run(const ExecSpace& exec, bool vote_to_stop) {
  enqueue(exec, vote_to_stop);
  return read(exec);
}

void TrainingStep::publish_state() {
  const ExecSpace exec;
  reducer_->publish_update(exec, model_.parameter_block());
  wait_for(exec, transports_);
  has_packed_weights_ = false;
}

void TrainingStep::take_shares(const std::vector<int>& shares) {
  batches_->take_shares(shares, [this](const auto& partition) { return add_plan(partition); });
}

std::string TrainingStep::non_finite_layer(const ExecSpace& exec) {
  const PlannedBatch& batch = batches_->at(counters_.cursor_of_kernels());
  std::vector<std::string> names;
  for (const BatchPiece& piece : batch.pieces) {
    const StepContext step = context(batch, piece, 0);
    model_.load_batch(exec, piece.plan, samples_, sampling_, counters_.scalars());
    names.push_back(
        model_.first_non_finite_layer(exec, step, [&] { wait_for(exec, transports_); }));
  }
  for (const Node& node : model_.network().graph().nodes()) {
    if (std::find(names.begin(), names.end(), node.name) != names.end()) return node.name;
  }
  return "";
}

namespace {

// Norms are summed up in whole chunks.
Updaters updaters(const Recipe& recipe) {
  return {recipe.parallel.shard_optimizer,
          BlockUpdate::needs_norms(recipe.optimizer) ? SpreadChunks::kChunk : kLanes};
}

std::vector<std::int64_t> sums_of_layers(const Network& network) {
  std::vector<std::int64_t> counts;
  for (const Layer* layer : network.layers())
    for (const std::int64_t count : layer->batch_sums()) counts.push_back(count);
  return counts;
}

}  // namespace

TrainingStep::TrainingStep(const Recipe& recipe, const ProcessGrid& grid, Model& model,
                           const Samples& samples, const GridTransports& transports)
    : grid_(grid),
      transports_(transports),
      model_(model),
      samples_(samples),
      sampling_{recipe.data.shuffle, recipe.data.augment, {}},
      wants_rank_loss_(recipe.train.per_rank_loss),
      counters_(recipe.seed),
      stage_sums_(grid),
      records_(is_so_everywhere(grid.world(), StepGraph::is_wanted())) {
  agree(grid.world(), [&] { plan_batches(recipe); });
  schedule_ =
      make_schedule(recipe.optimizer, steps_per_epoch(), steps_per_epoch() * recipe.train.epochs);
  make_reducers(recipe);
  figures_ =
      step_figures(recipe.optimizer, model, batches_->full(), room_, *reducer_, *layer_sums_);
  check_step_memory(grid.world(), figures_, samples.num_bytes(),
                    memory_remedies(recipe, batches_->full(), figures_));
  allocate(recipe);
  publish_state();  // all parameters are drawn
}

void TrainingStep::plan_batches(const Recipe& recipe) {
  const Communicator& data = grid_.data();
  const BatchRule rule = training_batches(recipe, data.size(), samples_.count);
  sampling_.windows = window_plan(recipe.data, rule, samples_.sample_bytes());
  for (const int batch : {rule.full_batch, rule.last_batch})
    check_least_samples(model_.whole(), batch, rule.block_samples);
  batches_.emplace(
      rule, model_.row_multiple(),
      EpochBatches::Worker{data.rank(), data.size(), model_.place(), recipe.parallel.schedule});
  enqueued_ = &batches_->full();
}

void TrainingStep::make_reducers(const Recipe& recipe) {
  Communicator& data = grid_.data();
  const SumOrder order = batches_->cut().sum_order();
  const bool balances = recipe.parallel.balance && data.size() > 1;
  const SharedNeeds needs{balances ? ShareBalance::kMostSums : batches_->most_partial_sums(),
                          grid_.shape().pipeline * grid_.shape().tensor, &grid_.world()};
  reducer_ = make_reducer(data, transports_.data, sums_offset() + Loss::kColumns, order,
                          Loss::kColumns, updaters(recipe), needs);
  layer_sums_ =
      std::make_unique<RankSums>(data, transports_.data, sums_of_layers(model_.network()), order);
  reducer_->reserve(batches_->most_piece_sums());
  if (balances) {
    agree(grid_.world(), [&] { check_can_balance(*reducer_, *layer_sums_, samples_); });
    balance_.emplace(data, batches_->full().plan.partition.num_blocks());
    reducer_->reserve(ShareBalance::kMostSums);
    layer_sums_->reserve(ShareBalance::kMostSums);
  }
  batches_->plan_reductions([this](const auto& partition) { return add_plan(partition); });
  room_ = batches_->room(balance_ ? balance_->most_blocks() : 0);
}

ReductionPlan TrainingStep::add_plan(const BatchPartition& partition) {
  const ReductionPlan plan = reducer_->add_plan(partition);
  expect(layer_sums_->add_plan(partition) == plan, "plans of one number in all reducers");
  return plan;
}

void TrainingStep::allocate(const Recipe& recipe) {
  reducer_->allocate();
  layer_sums_->allocate();
  const Network& network = model_.network();
  const StateMemory memory(grid_.data(), *reducer_);
  const bool needs_norms = BlockUpdate::needs_norms(recipe.optimizer);
  std::unique_ptr<NormExchange> exchange;
  if (is_split() && needs_norms) {
    exchange =
        std::make_unique<NormExchange>(grid_, model_.unsplit_table(), network.table(), *reducer_);
  }
  update_.emplace(recipe.optimizer, network.table(), *reducer_, memory, std::move(exchange));
  // One rank has the whole gradient of a layer at once.
  const bool is_whole = grid_.world().size() == 1 && batches_->full().num_pieces() == 1 &&
                        batches_->last().num_pieces() == 1;
  if (!needs_norms && kHostExecution && is_whole && network.layers_update_parameters())
    update_->leave_to_layers(network.left_to_optimizer());
  if (!needs_norms && !is_split() && reducer_->updates_parameters()) update_->leave_to_reducer();
  model_.allocate(room_.limit, memory, room_.in_flight);
  model_.connect(grid_, transports_.tensor);
}

}  // namespace quern

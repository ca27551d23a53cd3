// SPDX-License-Identifier: Apache-2.0
#include "strategy/training_step.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "device/inventory.hpp"
#include "parallel/device_stream.hpp"
#include "parallel/make_reducer.hpp"
#include "runtime/memory.hpp"
#include "strategy/least_samples.hpp"
#include "strategy/sample_stream.hpp"
#include "strategy/step_kernels.hpp"
#include "strategy/tensor_plan.hpp"
#include "tensor/host_values.hpp"

namespace quern {

void TrainingStep::enqueue_batch(const ExecSpace& exec) {
  const BatchPlan& plan = batch();
  const bool is_measured = loads_ && !is_last_;
  if (is_measured) loads_->begin_step();
  timer_.enter(StepPhase::data);
  set_learning_rate(exec, scalars_, schedule_);
  begin_batch(exec, scalars_, plan.samples(), host_flags_, reducer_->vote());
  for (const PipelineWork& work : current().order) {
    if (work.is_backward)
      enqueue_backward(exec, work.piece);
    else
      enqueue_forward(exec, work.piece);
  }
  if (is_measured) {
    exec.fence("quern::strategy::computed");
    loads_->end_computing();
  }
  const ReducedGradient own = reduce(exec);
  const bool has_period_ended = is_measured && loads_->has_period_ended();
  if (is_split()) {  // with an eye on others, as stage_sums_ does not
    await_ranks(grid_.world(), transports_);
    wait_for(exec, transports_);
  }
  const ReducedGradient gradient = stage_sums_.add(exec, own);

  timer_.enter(StepPhase::update);
  update(exec, gradient);
  update_->update_buffers(exec, scalars_, model_.parameters(), gradient.total);
  reducer_->publish_update(exec, model_.parameter_block());
  end_batch(exec, scalars_, plan.samples(), gradient.sums, gradient.votes, metric_sums_,
            host_flags_);
  timer_.stop();
  if (is_measured) loads_->end_step();
  if (has_period_ended && balance_->update(loads_->loads())) take_shares(balance_->shares());
}

void TrainingStep::update(const ExecSpace& exec, const ReducedGradient& gradient) {
  if (layers_update_) {
    for (const auto& [begin, end] : left_to_optimizer_)
      update_piece(exec, layers_update_, begin, end, gradient.total);
    return;
  }
  check_loss_finite(exec, scalars_, gradient.sums);
  update_->update_parameters(exec, scalars_, model_.parameters(), gradient.total);
}

void TrainingStep::enqueue_forward(const ExecSpace& exec, int piece) {
  const int batch = piece % in_flight_;
  const StepContext step = context(piece_at(piece), batch);
  timer_.enter(StepPhase::data);
  model_.load_batch(exec, piece_at(piece).plan, samples_, sampling_, scalars_, batch);
  timer_.enter(StepPhase::forward);
  model_.forward(exec, step, batch);
}

// To the gradients of some of this rank's blocks.
void TrainingStep::enqueue_backward(const ExecSpace& exec, int number) {
  const int batch = number % in_flight_;
  const BatchPiece& piece = piece_at(number);
  StepContext step = context(piece, batch);
  const bool is_whole = pieces().size() == 1;
  // The sums of several pieces are complete when the last one is merged. And exchanges of two
  // groups of ranks must not be under way on a device at once: NCCL may wait for ever.
  const bool is_early = is_whole && !transports_.tensor;
  const auto complete_from = [&](std::int64_t offset) {
    if (is_early) reducer_->complete_from(exec, reduction(), offset);
  };

  timer_.enter(StepPhase::forward);
  model_.network().store_statistics(exec, step, model_.activations(batch));
  model_.compute_loss(exec, step, samples_, step.gradients, sums_offset(), batch);
  complete_from(sums_offset());
  timer_.enter(StepPhase::backward);
  if (updates_in_backward_) {
    check_loss_finite(exec, scalars_, loss_sums());
    layers_update_ = update_->begin_update(exec, scalars_, model_.parameters());
    step.update = layers_update_;
  }
  model_.backward(exec, step, complete_from, batch);
  timer_.enter(StepPhase::reduction);
  has_packed_weights_ = static_cast<bool>(layers_update_);
  if (wants_rank_loss_ && model_.place().is_last()) {
    add_rank_loss(exec, model_.loss().row_values(), piece.plan, metric_sums_);
    if (&piece == &pieces().back()) end_rank_loss(exec, this->batch().num_samples, metric_sums_);
  }
  if (!is_whole) {
    merge_sums(exec, reducer_->partial_sums(), reducer_->num_floats(), piece.sums);
  }
}

// Of a rank that has the whole batch.
ConstFloatView TrainingStep::loss_sums() const {
  return Kokkos::subview(reducer_->partial_sums().data,
                         std::pair(sums_offset(), sums_offset() + Loss::kColumns));
}

StepContext TrainingStep::context(const BatchPiece& piece, int batch) {
  StepContext step = model_.context(piece.plan, Mode::train, scalars_,
                                    sums_of_piece(reducer_->partial_sums(), piece.sums), batch);
  step.has_packed_weights = has_packed_weights_;
  sums_->begin_batch(reduction());
  step.batch_sums = sums_.get();
  return step;
}

void TrainingStep::enqueue(const ExecSpace& exec, bool vote_to_stop) {
  is_last_ = batches_.is_short(cursor_);
  timer_.enter(StepPhase::data);
  await_samples(exec);
  const bool has_failed = samples_.stream && samples_.stream->has_failed();
  host_flags_().vote = vote_to_stop || has_failed ? 1.0f : 0.0f;
  const auto work = [&] { enqueue_batch(exec); };
  if (is_capturable()) {
    (is_last_ ? last_graph_ : full_graph_).run(exec, work);
  } else {
    work();
  }
  steps_ += 1;
  cursor_ += batch().samples();
}

void TrainingStep::await_samples(const ExecSpace& exec) {
  if (!samples_.stream) return;
  if (samples_.stream->hands_back(epoch_, cursor_)) wait(exec);
  samples_.stream->prepare(epoch_, cursor_);
}

void TrainingStep::wait(const ExecSpace& exec) {
  if (!is_split() && transports_.are_none()) return reducer_->wait(exec);
  wait_on_all(grid_.world(), exec, transports_, [this] { return batches_ended(host_flags_); });
}

StepReport TrainingStep::read(const ExecSpace& exec) {
  wait(exec);
  const StepScalars scalars = read_scalar(scalars_);
  const MetricSums metric_sums = read_scalar(metric_sums_);
  StepReport report;
  report.progress = {scalars.step,         scalars.epoch,       scalars.cursor,
                     metric_sums.loss_sum, metric_sums.correct, metric_sums.samples};
  report.loss = metric_sums.batch_loss;
  report.correct = metric_sums.batch_correct;
  report.diverged = !scalars.apply_updates;
  report.stop = metric_sums.votes > 0;
  report.rank_loss = metric_sums.rank_loss;
  return report;
}

StepReport TrainingStep::run(const ExecSpace& exec, bool vote_to_stop) {
  enqueue(exec, vote_to_stop);
  return read(exec);
}

namespace {

// Clipping adds up whole chunks of the gradient.
Updaters updaters(const Recipe& recipe) {
  return {recipe.parallel.shard_optimizer,
          recipe.optimizer.clip_norm > 0 ? GradientClip::kChunk : kLanes};
}

std::vector<std::int64_t> sums_of_layers(const Network& network) {
  std::vector<std::int64_t> counts;
  for (const Layer* layer : network.layers())
    for (const std::int64_t count : layer->batch_sums()) counts.push_back(count);
  return counts;
}

// That a rank hands over of batches cut in this way, at most.
int most_partial_sums(const BatchCut& cut, const BatchPartition& partition) {
  int most = most_piece_sums(cut, partition);
  for (int rank = 0; rank < partition.num_ranks(); ++rank)
    most = std::max(most, num_partial_sums(cut.sum_order(), partition, rank));
  return most;
}

}  // namespace

TrainingStep::TrainingStep(const Recipe& recipe, const ProcessGrid& grid, Model& model,
                           const Samples& samples, const GridTransports& transports)
    : grid_(grid),
      transports_(transports),
      model_(model),
      samples_(samples),
      seed_(recipe.seed),
      sampling_{recipe.data.shuffle, recipe.data.augment, {}},
      wants_rank_loss_(recipe.train.per_rank_loss),
      order_(recipe.parallel.schedule),
      stage_sums_(grid),
      scalars_("quern::strategy::step_scalars"),
      metric_sums_("quern::strategy::metric_sums"),
      host_flags_("quern::strategy::host_flags") {
  agree(grid.world(), [&] {
    const int num_ranks = grid.data().size();
    batches_ = training_batches(recipe, num_ranks, samples.count);
    sampling_.windows = window_plan(recipe.data, batches_, samples.sample_bytes());
    cut_ = batches_.cut(model.row_multiple());
    for (const int batch : {batches_.full_batch, batches_.last_batch})
      check_least_samples(model.whole(), batch, batches_.block_samples);
    full_ = make_batch({batches_.full_batch, cut_.block_samples, num_ranks});
    last_ = make_batch({batches_.last_batch, cut_.block_samples, num_ranks});
    for (const PlannedBatch* batch : {&full_, &last_}) {
      const int pieces = static_cast<int>(batch->pieces.size());
      in_flight_ = std::max(in_flight_, pieces_in_flight(order_, model.place(), pieces));
    }
  });
  const bool balances = recipe.parallel.balance && grid.data().size() > 1;
  const SharedNeeds needs{balances ? ShareBalance::kMostSums
                                   : std::max(most_partial_sums(cut_, full_.plan.partition),
                                              most_partial_sums(cut_, last_.plan.partition)),
                          grid.shape().pipeline * grid.shape().tensor};
  reducer_ = make_reducer(grid.data(), transports.data, sums_offset() + Loss::kColumns,
                          cut_.sum_order(), Loss::kColumns, updaters(recipe), needs);
  sums_ = std::make_unique<RankSums>(grid.data(), transports.data, sums_of_layers(model.network()),
                                     cut_.sum_order());
  agree(grid.world(), [&] {
    for (const PlannedBatch* batch : {&full_, &last_})
      reducer_->reserve(most_piece_sums(cut_, batch->plan.partition));
    if (balances) begin_balance();
  });
  if (balance_) loads_.emplace(grid.data());
  schedule_ =
      make_schedule(recipe.optimizer, steps_per_epoch(), steps_per_epoch() * recipe.train.epochs);
  allocate(recipe);
  set_position({});
}

void TrainingStep::allocate(const Recipe& recipe) {
  Communicator& world = grid_.world();
  const ParameterTable& table = model_.network().table();
  for (PlannedBatch* batch : {&full_, &last_}) add_reduction(*batch);
  // Of what the node has once, this rank's share.
  const std::int64_t sharers = reducer_->shares_state() ? reducer_->num_ranks() : 1;
  optimizer_bytes_ = BlockUpdate::state_bytes(recipe.optimizer, table, *reducer_);
  const std::int64_t state_bytes =
      (table.block_size() + sharers - 1) / sharers * static_cast<std::int64_t>(sizeof(float)) +
      optimizer_bytes_;
  const DeviceMemoryNeeds needs{samples_.num_bytes(), model_.activation_bytes(limit(), in_flight_),
                                state_bytes + reducer_->bytes() + sums_->bytes()};
  memory_bytes_ = needs.activation_bytes + needs.parameter_bytes;
  agree(world, [&] { check_device_memory(needs, available_device_memory()); });
  if (kHostExecution) check_node_memory(world, memory_bytes_, "training");
  reducer_->allocate();
  sums_->allocate();
  const StateMemory memory(grid_.data(), *reducer_);
  std::unique_ptr<ClipExchange> exchange;
  if (is_split() && recipe.optimizer.clip_norm > 0) {
    exchange = std::make_unique<ClipExchange>(grid_, model_.unsplit_table(), table, *reducer_);
  }
  update_.emplace(recipe.optimizer, table, *reducer_, memory, std::move(exchange));
  const auto is_one_piece = [](const PlannedBatch& batch) { return batch.pieces.size() == 1; };
  left_to_optimizer_ = model_.network().left_to_optimizer();
  updates_in_backward_ = kHostExecution && world.size() == 1 && !update_->clips() &&
                         is_one_piece(full_) && is_one_piece(last_) &&
                         model_.network().layers_update_parameters();
  model_.allocate(limit(), memory, in_flight_);
  model_.connect(grid_, transports_.tensor);
  publish_state();  // all parameters are drawn
}

TrainingStep::PlannedBatch TrainingStep::make_batch(const BatchPartition& partition) const {
  const int rank = grid_.data().rank();
  PlannedBatch batch;
  batch.plan = make_batch_plan(cut_, partition, rank);
  batch.pieces = make_batch_pieces(cut_, batch.plan, rank);
  batch.order = pipeline_order(order_, model_.place(), static_cast<int>(batch.pieces.size()));
  return batch;
}

void TrainingStep::add_reduction(PlannedBatch& batch) {
  batch.reduction = reducer_->add_plan(batch.plan.partition);
  sums_->add_plan(batch.plan.partition);
}

void TrainingStep::begin_balance() {
  const std::string lead = "parallel.balance: blocks move between ranks of one node that share ";
  if (!reducer_->takes_later_plans())
    throw InputError(lead + "memory, and the gradients of this run are added " +
                     reducer_->describe() + " (expected one node, and kernels on CPUs)");
  if (samples_.stream)
    throw InputError(lead + "the samples, and this set is streamed (expected one in memory)");
  balance_.emplace(full_.plan.partition.num_blocks(), grid_.data().size());
  reducer_->reserve(ShareBalance::kMostSums);
  sums_->reserve(ShareBalance::kMostSums);
}

// Rare, and the only place where a plan is made within the loop.
void TrainingStep::take_shares(const std::vector<int>& shares) {
  const auto [place, is_new] = balanced_.try_emplace(shares);
  if (is_new) {
    place->second = make_batch({batches_.full_batch, cut_.block_samples, shares});
    add_reduction(place->second);
  }
  full_ = place->second;
}

BatchLimit TrainingStep::limit() const {
  BatchLimit limit = full_.plan.limit();
  if (balance_)
    limit.rows = std::max(limit.rows, balance_->most_blocks() * full_.plan.schedule.block_rows);
  return limit;
}

std::int64_t TrainingStep::stage_bytes_sent(int stage) const {
  const CrossingFloats floats = crossing_floats(stages(), stage, full_.plan.limit().rows);
  return static_cast<std::int64_t>(full_.pieces.size()) * (floats.y + floats.dx) *
         std::int64_t{sizeof(float)};
}

std::int64_t TrainingStep::sent_bytes() const {
  return reducer_->floats_sent(full_.reduction) * std::int64_t{sizeof(float)} +
         stage_bytes_sent(model_.place().stage) + tensor_plan(model_, full_.plan.rows()).bytes_sent;
}

void TrainingStep::publish_state() {
  const ExecSpace exec;
  reducer_->publish_update(exec, model_.parameter_block());
  wait_for(exec, transports_);
  has_packed_weights_ = false;
}

ReducedGradient TrainingStep::reduce(const ExecSpace& exec) {
  return update_->needs_whole_gradient() ? reducer_->reduce(exec, reduction())
                                         : reducer_->reduce_own_part(exec, reduction());
}

void TrainingStep::set_position(const TrainingProgress& progress) {
  quern::set_position(scalars_, seed_, progress.step, progress.epoch, progress.cursor);
  const auto metric_sums = Kokkos::create_mirror_view(metric_sums_);
  metric_sums() = MetricSums{};
  metric_sums().loss_sum = progress.epoch_loss_sum;
  metric_sums().correct = progress.epoch_correct;
  metric_sums().samples = progress.epoch_samples;
  Kokkos::deep_copy(metric_sums_, metric_sums);
  steps_ = progress.step;
  epoch_ = progress.epoch;
  cursor_ = progress.cursor;
}

std::string TrainingStep::non_finite_layer(const ExecSpace& exec) {
  is_last_ = batches_.is_short(read_scalar(scalars_).cursor);
  const Network& network = model_.network();
  std::vector<std::string> names;
  for (const BatchPiece& piece : pieces()) {
    const StepContext step = context(piece, 0);
    model_.load_batch(exec, piece.plan, samples_, sampling_, scalars_);
    names.push_back(
        model_.first_non_finite_layer(exec, step, [&] { wait_for(exec, transports_); }));
  }
  for (const Node& node : network.graph().nodes()) {
    if (std::find(names.begin(), names.end(), node.name) != names.end()) return node.name;
  }
  return "";
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// One training step on this rank's part of a global batch, by its stage of the network.
//
// Within a group of grid.data(), the ranks with the same stage and other samples, nothing is known
// of other stages: each adds the gradients of its stage's parameters and updates them. A network
// that is not split is a pipeline with one stage. With several, for each piece of the batch:
//
//   stage 0        F: gather samples, forward      --y-->                  B: backward
//   stage 1              F: forward                --y-->        <--dy--   B: backward
//   stage P - 1               F: forward, then at once           <--dy--   B: loss, backward
//
// Messages: StageExchange. Their order: pipeline_order.hpp. After the last piece every stage
// reduces its gradient over grid.data(), and StageSums tells all stages the loss and the votes.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/device_transport.hpp"
#include "comm/process_grid.hpp"
#include "device/step_graph.hpp"
#include "optim/schedule.hpp"
#include "parallel/rank_sums.hpp"
#include "strategy/block_update.hpp"
#include "strategy/epoch_batches.hpp"
#include "strategy/model.hpp"
#include "strategy/stage_sums.hpp"
#include "strategy/step_balance.hpp"
#include "strategy/step_counters.hpp"
#include "strategy/step_figures.hpp"
#include "strategy/step_timer.hpp"

namespace quern {

class TrainingStep {
 public:
  /// Plans, buffers, optimizer and reduction for a run over `samples`; draws the parameters.
  /// Gradients are added over grid.data(), by transports.data (see make_reducer); layers are shared
  /// over grid.tensor(), by transports.tensor (see Model::connect). `model`, `samples`, transports
  /// and the grid's world must outlive it. Collective; AgreedError (exit 2) when the batch has more
  /// micro-blocks than the summation tree, or the node or a device too little memory.
  TrainingStep(const Recipe& recipe, const ProcessGrid& grid, Model& model, const Samples& samples,
               const GridTransports& transports = {});

  const ProcessGrid& grid() const { return grid_; }
  const Model& model() const { return model_; }
  std::int64_t steps_per_epoch() const { return batches_->rule().steps_per_epoch(); }
  const BatchPlan& full_batch() const { return batches_->full().plan; }
  const BatchPlan& last_batch() const { return batches_->last().plan; }
  /// Within which an epoch is shuffled.
  const WindowPlan& windows() const { return sampling_.windows; }
  /// What this rank needs, and what it sends in a full batch of equal shares.
  const StepFigures& figures() const { return figures_; }
  /// How the ranks' gradients are added, for people.
  std::string reduction_text() const { return reducer_->describe(); }
  /// Is the step recorded once and replayed?
  bool is_recorded() const { return records_ && is_capturable(); }
  /// Learning rate of the step that follows `steps_done` steps.
  double learning_rate(std::int64_t steps_done) const {
    return quern::learning_rate(schedule_, steps_done, counters_.plateaus());
  }
  const Schedule& schedule() const { return schedule_; }

  /// What a checkpoint holds of it.
  TrainState state() const { return update_->state(model_.parameters()); }
  /// Collective, after parameters or optimizer state were written from outside (restore() of
  /// state/restore.hpp): from now on all ranks see them.
  void publish_state();

  /// Where the next step stands, and what the epoch has counted.
  void set_position(const TrainingProgress& progress) {
    counters_.set_position(progress);
    has_packed_weights_ = false;  // an evaluation may have used the same arrays
  }

  /// With parallel.balance, between two steps: full batches from now on are cut into so many
  /// micro-blocks for each rank, as ShareBalance would. Collective.
  void take_shares(const std::vector<int>& shares);

  /// Of a streamed set: waits until the samples of the coming batch are there, and where a window
  /// ends, for the steps in it, as read() does: collective, within the deadline of an exchange. (A
  /// device that waited itself would keep the host in prepare(), which has none.) Throws what
  /// reading the samples has thrown.
  void await_samples(const ExecSpace& exec);

  /// Puts one step on `exec`: from the batch at the cursor to updated parameters. Collective; on a
  /// device the host does not wait, but where a streamed window ends. When the loss is not finite,
  /// parameters and optimizer stay as they were in this step and all that follow. Always the same
  /// `exec`. Where samples that come later cannot be read, this rank votes to stop.
  void enqueue(const ExecSpace& exec, bool vote_to_stop);

  /// Waits for the steps and says where they have led. Collective; AgreedError when an exchange
  /// between devices has failed.
  StepReport read(const ExecSpace& exec);

  /// One step, and what came out.
  StepReport run(const ExecSpace& exec, bool vote_to_stop);

  /// Steps since the start of the run and samples of the epoch, counting what is enqueued.
  std::int64_t steps() const { return counters_.steps(); }
  std::int64_t cursor() const { return counters_.cursor(); }
  /// The batch that was enqueued last; before the first one, a full batch.
  const BatchPlan& batch() const { return enqueued_->plan; }
  /// Where the host's time went in the steps since the last call: this rank's whole time where
  /// kernels run on the host.
  StepTimes take_times() { return timer_.take(); }
  /// The layer that first puts out values that are not finite for this rank's part of the batch at
  /// the cursor: after a report of divergence, the batch that diverged. "" when all are finite.
  /// Runs the forward pass again.
  std::string non_finite_layer(const ExecSpace& exec);

 private:
  void plan_batches(const Recipe& recipe);
  void make_reducers(const Recipe& recipe);
  void allocate(const Recipe& recipe);
  ReductionPlan add_plan(const BatchPartition& partition);

  void enqueue_batch(const ExecSpace& exec, const PlannedBatch& batch);
  void enqueue_forward(const ExecSpace& exec, const PlannedBatch& batch, int number);
  void enqueue_backward(const ExecSpace& exec, const PlannedBatch& batch, int number);
  ReducedGradient reduce(const ExecSpace& exec, ReductionPlan plan);
  void update(const ExecSpace& exec, const ReducedGradient& gradient);
  void wait(const ExecSpace& exec);
  void wait_now_and_then(const ExecSpace& exec);

  /// For the layers, on this piece, whose arrays are those of `slot`.
  StepContext context(const PlannedBatch& batch, const BatchPiece& piece, int slot);
  /// Arrays of the pieces in flight are taken in turn.
  int slot_of(int number) const { return number % room_.in_flight; }
  // After the gradients the block holds the sums of the loss. A stage without parameters has a
  // gradient of a few zeros.
  std::int64_t sums_offset() const {
    return std::max<std::int64_t>(model_.network().table().reduced_size(), kLanes);
  }
  ConstFloatView loss_sums() const;
  bool is_split() const { return grid_.shape().pipeline * grid_.shape().tensor > 1; }
  bool is_capturable() const {
    return reducer_->is_capturable() && layer_sums_->is_capturable() && !is_split();
  }

  ProcessGrid grid_;
  GridTransports transports_;
  Model& model_;
  const Samples& samples_;
  Sampling sampling_;
  bool wants_rank_loss_;
  Schedule schedule_;
  StepCounters counters_;
  std::optional<EpochBatches> batches_;
  std::optional<StepBalance> balance_;
  std::unique_ptr<GradientReducer> reducer_;
  std::unique_ptr<RankSums> layer_sums_;
  StageSums stage_sums_;
  std::optional<BlockUpdate> update_;
  bool has_packed_weights_ = false;  // StepContext, of the coming step
  StepRoom room_;
  StepFigures figures_;
  const PlannedBatch* enqueued_ = nullptr;
  StepTimer timer_;
  int unseen_steps_ = 0;  // that the host has enqueued since it looked at the exchanges
  bool records_;          // the same on all ranks, which record their exchanges or do not
  StepGraph full_graph_;
  StepGraph last_graph_;
};

}  // namespace quern

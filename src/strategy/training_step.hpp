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
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/device_transport.hpp"
#include "comm/process_grid.hpp"
#include "device/step_graph.hpp"
#include "optim/schedule.hpp"
#include "parallel/rank_sums.hpp"
#include "spec/training_progress.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/block_update.hpp"
#include "strategy/metric_sums.hpp"
#include "strategy/model.hpp"
#include "strategy/pipeline_order.hpp"
#include "strategy/rank_loads.hpp"
#include "strategy/share_balance.hpp"
#include "strategy/stage_sums.hpp"
#include "strategy/step_timer.hpp"

namespace quern {

/// Where training stands after the steps so far. All but rank_loss is equal on all ranks.
struct StepReport {
  TrainingProgress progress;  ///< counts the steps that updated parameters
  // Sums over the samples of the last batch.
  double loss = 0;        ///< not divided by their number
  double correct = 0;     ///< 0 without labels
  bool diverged = false;  ///< the loss of the step after progress.step was not finite
  bool stop = false;      ///< some rank voted to stop
  /// Of this rank: the sum over this epoch's batches of its own mean losses (train.per_rank_loss).
  double rank_loss = 0;
};

class TrainingStep {
 public:
  /// Plans, buffers, optimizer and reduction for a run over `samples`; draws the parameters.
  /// Gradients are added over grid.data(), by transports.data (see make_reducer); layers are shared
  /// over grid.tensor(), by transports.tensor (see Model::connect). `model`, `samples`, transports
  /// and the grid's world must outlive it. Collective; AgreedError (exit 2) when the batch has more
  /// micro-blocks than the summation tree, or the node or a device too little memory.
  TrainingStep(const Recipe& recipe, const ProcessGrid& grid, Model& model, const Samples& samples,
               const GridTransports& transports = {});

  std::int64_t steps_per_epoch() const { return batches_.steps_per_epoch(); }
  const Model& model() const { return model_; }
  /// Within which an epoch is shuffled.
  const WindowPlan& windows() const { return sampling_.windows; }
  const BatchPlan& full_batch() const { return full_.plan; }
  const BatchPlan& last_batch() const { return last_.plan; }
  /// What this rank's activations, parameters, gradients and optimizer state take; the data set is
  /// not counted.
  std::int64_t memory_bytes() const { return memory_bytes_; }
  /// What of these is optimizer state.
  std::int64_t optimizer_bytes() const { return optimizer_bytes_; }
  /// What this rank sends to others in a full batch: gradients or parameters, at the borders of its
  /// stage, and of layers that it shares. Nothing where ranks share memory.
  std::int64_t sent_bytes() const;
  /// How the ranks' gradients are added, for people.
  std::string reduction_text() const { return reducer_->describe(); }
  /// Of a network that is split; one where it is not.
  const std::vector<StageInfo>& stages() const { return model_.stages(); }
  const ProcessGrid& grid() const { return grid_; }
  /// Bytes that a rank of this stage sends to its neighbours in a full batch.
  std::int64_t stage_bytes_sent(int stage) const;
  /// Is the step recorded once and replayed?
  bool is_recorded() const { return StepGraph::is_wanted() && is_capturable(); }

  /// What a checkpoint holds of it.
  TrainState state() const { return update_->state(model_.parameters()); }
  /// Collective, after parameters or optimizer state were written from outside (restore() of
  /// train/restore.hpp): from now on all ranks see them.
  void publish_state();

  /// Where the next step stands, and what the epoch has counted.
  void set_position(const TrainingProgress& progress);

  /// With parallel.balance, between two steps: full batches from now on are cut into so many
  /// micro-blocks for each rank, as ShareBalance would. Collective.
  void take_shares(const std::vector<int>& shares);

  /// Puts one step on `exec`: from the batch at the cursor to updated parameters. Collective; on a
  /// device the host does not wait, but where a streamed window ends. When the loss is not finite,
  /// parameters and optimizer stay as they were in this step and all that follow. Always the same
  /// `exec`. Where samples that come later cannot be read, this rank votes to stop.
  void enqueue(const ExecSpace& exec, bool vote_to_stop);

  /// Of a streamed set: waits until the samples of the coming batch are there, and where a window
  /// ends, for the steps in it, as read() does: collective, within the deadline of an exchange. (A
  /// device that waited itself would keep the host in prepare(), which has none.) Throws what
  /// reading the samples has thrown.
  void await_samples(const ExecSpace& exec);

  /// Waits for the steps and says where they have led. Collective; AgreedError when an exchange
  /// between devices has failed.
  StepReport read(const ExecSpace& exec);

  /// One step, and what came out.
  StepReport run(const ExecSpace& exec, bool vote_to_stop);

  /// Steps since the start of the run and samples of the epoch, counting what is enqueued.
  std::int64_t steps() const { return steps_; }
  std::int64_t cursor() const { return cursor_; }
  /// The batch that was enqueued last.
  const BatchPlan& batch() const { return current().plan; }
  /// Where the host's time went in the steps since the last call: this rank's whole time where
  /// kernels run on the host.
  StepTimes take_times() { return timer_.take(); }
  /// Learning rate of the step that follows `steps_done` steps.
  double learning_rate(std::int64_t steps_done) const {
    return quern::learning_rate(schedule_, steps_done);
  }
  /// The layer that first puts out values that are not finite for this rank's part of the batch at
  /// the cursor: after a report of divergence, the batch that diverged. "" when all are finite.
  /// Runs the forward pass again.
  std::string non_finite_layer(const ExecSpace& exec);

 private:
  // After the gradients the block holds the sums of the loss. A stage without parameters has a
  // gradient of a few zeros.
  std::int64_t sums_offset() const {
    return std::max<std::int64_t>(model_.network().table().reduced_size(), kLanes);
  }
  void allocate(const Recipe& recipe);
  ConstFloatView loss_sums() const;
  bool is_split() const { return grid_.shape().pipeline * grid_.shape().tensor > 1; }
  bool is_capturable() const {
    return reducer_->is_capturable() && sums_->is_capturable() && !is_split();
  }
  void wait(const ExecSpace& exec);
  void enqueue_forward(const ExecSpace& exec, int piece);
  void enqueue_backward(const ExecSpace& exec, int piece);
  /// For the layers, on this piece, as one of the batches in flight.
  StepContext context(const BatchPiece& piece, int batch);
  /// A batch of one size, cut and ordered.
  struct PlannedBatch {
    BatchPlan plan;
    std::vector<BatchPiece> pieces;
    std::vector<PipelineWork> order;
    ReductionPlan reduction{};
  };
  PlannedBatch make_batch(const BatchPartition& partition) const;
  const PlannedBatch& current() const { return is_last_ ? last_ : full_; }
  const std::vector<BatchPiece>& pieces() const { return current().pieces; }
  void add_reduction(PlannedBatch& batch);
  void begin_balance();
  /// What the arrays of the network have room for.
  BatchLimit limit() const;
  const BatchPiece& piece_at(int i) const { return pieces()[static_cast<std::size_t>(i)]; }
  void enqueue_batch(const ExecSpace& exec);
  ReducedGradient reduce(const ExecSpace& exec);
  void update(const ExecSpace& exec, const ReducedGradient& gradient);
  ReductionPlan reduction() const { return current().reduction; }

  ProcessGrid grid_;
  GridTransports transports_;
  Model& model_;
  const Samples& samples_;
  std::uint64_t seed_;
  Sampling sampling_;
  bool wants_rank_loss_;
  PipelineSchedule order_;
  std::unique_ptr<GradientReducer> reducer_;
  std::optional<BlockUpdate> update_;
  std::unique_ptr<RankSums> sums_;
  StageSums stage_sums_;
  StepScalarsView scalars_;
  MetricSumsView metric_sums_;
  HostFlagsView host_flags_;
  BatchRule batches_;
  BatchCut cut_;
  PlannedBatch full_;
  PlannedBatch last_;
  // With parallel.balance: full batches whose shares were tried, and those of the coming one.
  std::optional<ShareBalance> balance_;
  std::optional<RankLoads> loads_;
  std::map<std::vector<int>, PlannedBatch> balanced_;
  // One rank has the whole gradient of a layer at once: layers update their parameters themselves.
  bool updates_in_backward_ = false;
  bool has_packed_weights_ = false;  // StepContext, of the coming step
  ParameterUpdate layers_update_;
  std::vector<std::pair<std::int64_t, std::int64_t>> left_to_optimizer_;
  int in_flight_ = 1;  // pieces, whose arrays they take in turn
  Schedule schedule_;
  std::int64_t memory_bytes_ = 0;
  std::int64_t optimizer_bytes_ = 0;
  // The host's own count, ahead of scalars(): it decides which batch comes next.
  std::int64_t epoch_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t cursor_ = 0;
  bool is_last_ = false;
  StepTimer timer_;
  StepGraph full_graph_;
  StepGraph last_graph_;
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Loss and accuracy over a whole data set: every sample exactly once, whatever the number of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "comm/agree.hpp"
#include "comm/process_grid.hpp"
#include "inference/evaluation.hpp"
#include "parallel/make_reducer.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/epoch_batches.hpp"
#include "strategy/metric_sums.hpp"
#include "strategy/model.hpp"

namespace quern {

/// Samples of a streamed set cannot be read; an exchange that fails is another AgreedError.
class UnreadableSamples : public AgreedError {
 public:
  explicit UnreadableSamples(const AgreedError& error) : AgreedError(error) {}
};

class Evaluator {
 public:
  /// `batches`: those of evaluation_batches(); their rows must not be more than what `model` was
  /// allocated for (see limit). `model`, which is connected by transports.tensor, `samples`, the
  /// transports and the grid's world must outlive it.
  Evaluator(const ProcessGrid& grid, Model& model, const Samples& samples, const BatchRule& batches,
            const GridTransports& transports = {});

  /// What this rank needs room for.
  BatchLimit limit() const { return batches_.room().limit; }

  /// Collective; equal on all ranks, and for any number of ranks. UnreadableSamples where the set
  /// is streamed.
  /// `after_piece`: called with each piece of this rank's part of a batch, after forward.
  Evaluation run(const ExecSpace& exec,
                 const std::function<void(const BatchPlan&)>& after_piece = {});

 private:
  void wait(const ExecSpace& exec);

  ProcessGrid grid_;
  GridTransports transports_;
  Model& model_;
  const Samples& samples_;
  EpochBatches batches_;
  int batches_unseen_;  // between two looks at the exchanges
  int num_sums_;        // of a batch: loss and correct answers, and perhaps squared errors
  std::unique_ptr<GradientReducer> reducer_;
  StepScalarsView scalars_;
  MetricSumsView metric_sums_;
  MetricSumsView error_sums_;  // of the squared errors, in the units of the targets
  HostFlagsView host_flags_;
  std::int64_t evaluations_ = 0;  // of a streamed set
  double target_variance_;
};

}  // namespace quern

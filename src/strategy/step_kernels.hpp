// SPDX-License-Identifier: Apache-2.0
// The little kernels that open and close a step.
#pragma once

#include "loss/loss.hpp"
#include "parallel/gradient_reducer.hpp"
#include "spec/training_progress.hpp"
#include "strategy/batch_plan.hpp"
#include "strategy/metric_sums.hpp"

namespace quern {

/// scalars().inverse_count = 1 / samples of the batch; clipping off until it is set. Copies the
/// host's vote to `vote`, unless that is empty.
void begin_batch(const ExecSpace& exec, const StepScalarsView& scalars, int samples,
                 const HostFlagsView& host = {}, const FloatView& vote = {});

/// Overwrites the metric sums with zeros.
void reset_metric_sums(const ExecSpace& exec, const MetricSumsView& metric_sums);

/// Clears scalars().apply_updates when the loss of the batch, sums(Loss::kLoss), is not finite.
void check_loss_finite(const ExecSpace& exec, const StepScalarsView& scalars,
                       const ConstFloatView& sums);

/// Adds the losses of this rank's samples to metric_sums().rank_batch_loss: row after row, in
/// double. `row_values`: Loss::row_values(). For recipes that ask for it; not quick.
void add_rank_loss(const ExecSpace& exec, const ConstFloatView& row_values, const BatchPlan& plan,
                   const MetricSumsView& metric_sums);

/// After all of this rank's samples of the batch: adds their mean loss to metric_sums().rank_loss.
void end_rank_loss(const ExecSpace& exec, int num_samples, const MetricSumsView& metric_sums);

/// Counts a batch of `samples` with these sums, and the votes if there are any; moves step and
/// cursor on past it. A loss that was not finite (scalars().apply_updates) is noted in
/// metric_sums().batch_loss, but not counted, and the position stays. Tells the host that the batch
/// has ended.
void end_batch(const ExecSpace& exec, const StepScalarsView& scalars, int samples,
               const ConstFloatView& sums, const ConstFloatView& votes,
               const MetricSumsView& metric_sums, const HostFlagsView& host);

/// Adds sums(Loss::kLoss) to metric_sums().loss_sum, and counts nothing else.
void add_batch_loss(const ExecSpace& exec, const ConstFloatView& sums,
                    const MetricSumsView& metric_sums);

/// Moves step and cursor on past a batch, and counts nothing.
void advance_position(const ExecSpace& exec, const StepScalarsView& scalars, int samples);

/// Overwrites seed, step, epoch, cursor and plateaus from the host, and allows updates; waits.
void set_position(const StepScalarsView& scalars, std::uint64_t seed,
                  const TrainingProgress& progress);

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "inference/evaluator.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "parallel/device_stream.hpp"
#include "samples/normalization.hpp"
#include "strategy/sample_stream.hpp"
#include "strategy/step_kernels.hpp"
#include "tensor/host_values.hpp"

namespace quern {

namespace {

template <class Read>
void read_samples(Communicator& comm, const Read& read) {
  try {
    agree(comm, read);
  } catch (const AgreedError& error) {
    throw UnreadableSamples(error);
  }
}

}  // namespace

Evaluator::Evaluator(const ProcessGrid& grid, Model& model, const Samples& samples,
                     const BatchRule& batches, const GridTransports& transports)
    : grid_(grid),
      transports_(transports),
      model_(model),
      samples_(samples),
      batches_(batches, model.row_multiple(), {grid.data().rank(), grid.data().size()}),
      num_sums_(model.has_own_squared_error() ? 2 * Loss::kColumns : Loss::kColumns),
      reducer_(make_reducer(grid.data(), transports.data, num_sums_, SumOrder::tree)),
      scalars_("quern::inference::evaluation_scalars"),
      metric_sums_("quern::inference::evaluation_metric_sums"),
      error_sums_("quern::inference::evaluation_error_sums"),
      host_flags_("quern::inference::evaluation_host_flags"),
      target_variance_(model.compares_targets() ? variance_of_targets(grid.world(), samples) : 0) {
  expect(batches.num_samples == samples.count, "batches of these samples");
  constexpr int kKernelsOfALayer = 2;
  batches_unseen_ = batches_unseen(kKernelsOfALayer * batches_.cut().micro_batches *
                                   std::ssize(model.whole().graph().nodes()));
  reducer_->reserve(batches_.most_piece_sums());
  batches_.plan_reductions([&](const auto& partition) { return reducer_->add_plan(partition); });
  reducer_->allocate();
}

// The queue holds all that has not been computed yet: of a large set more than a deadline's time.
void Evaluator::wait(const ExecSpace& exec) {
  wait_on_all(grid_.world(), exec, transports_, [this] { return batches_ended(host_flags_); });
}

Evaluation Evaluator::run(const ExecSpace& exec,
                          const std::function<void(const BatchPlan&)>& after_piece) {
  // A stream goes from one evaluation on to the next.
  const std::int64_t epoch = samples_.stream ? evaluations_++ : 0;
  const Sampling sampling{.windows = samples_.stream ? samples_.stream->plan() : WindowPlan{}};
  set_position(scalars_, 0, {.epoch = epoch});
  reset_metric_sums(exec, metric_sums_);
  reset_metric_sums(exec, error_sums_);
  std::int64_t done = 0;
  int unseen = 0;
  while (done < samples_.count) {
    const PlannedBatch& batch = batches_.at(done);
    if (samples_.stream) {
      if (samples_.stream->hands_back(epoch, done)) wait(exec);
      read_samples(grid_.world(), [&] { samples_.stream->prepare(epoch, done); });
    }
    if (!transports_.are_none() && unseen++ == batches_unseen_) {
      wait(exec);
      unseen = 1;
    }
    for (const BatchPiece& piece : batch.pieces) {
      const GradientSums sums = sums_of_piece(reducer_->partial_sums(), piece.sums);
      const StepContext step = model_.context(piece.plan, Mode::evaluate, scalars_, sums);
      model_.load_batch(exec, piece.plan, samples_, sampling, scalars_);
      model_.forward(exec, step, samples_);
      model_.compute_loss(exec, step, samples_, sums, 0);
      if (after_piece) after_piece(piece.plan);
      if (model_.has_own_squared_error()) {
        model_.restore_error_units(exec, samples_);
        model_.compute_squared_error(exec, step, samples_, sums, Loss::kColumns);
      }
      if (batch.num_pieces() > 1) merge_sums(exec, reducer_->partial_sums(), num_sums_, piece.sums);
    }
    const ReducedGradient sums = reducer_->reduce(exec, batch.reduction);
    if (model_.has_own_squared_error()) {
      add_batch_loss(exec, Kokkos::subview(sums.total, std::pair(Loss::kColumns, num_sums_)),
                     error_sums_);
    }
    end_batch(exec, scalars_, batch.samples(), sums.total, {}, metric_sums_, host_flags_);
    done += batch.samples();
  }
  wait(exec);
  const int last_stage = grid_.shape().pipeline - 1;
  const MetricSums sums = broadcast_value(grid_.pipeline(), read_scalar(metric_sums_), last_stage);
  const MetricSums error = broadcast_value(grid_.pipeline(), read_scalar(error_sums_), last_stage);
  const auto count = static_cast<double>(sums.samples);
  const double loss = sums.loss_sum / count;
  const double unit = model_.error_unit();
  const std::int64_t answers = sums.samples * model_.loss().answers_per_sample();
  return {.samples = sums.samples,
          .loss = loss,
          .answers = answers,
          .correct = std::min(sums.correct, answers),
          .has_targets = model_.compares_targets(),
          .target_variance = target_variance_,
          .squared_error =
              model_.has_own_squared_error() ? unit * unit * error.loss_sum / count : loss};
}

}  // namespace quern

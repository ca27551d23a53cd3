// SPDX-License-Identifier: Apache-2.0
#include "strategy/step_counters.hpp"

#include "strategy/step_kernels.hpp"
#include "tensor/host_values.hpp"

namespace quern {

StepCounters::StepCounters(std::uint64_t seed)
    : seed_(seed),
      scalars_("quern::strategy::step_scalars"),
      metric_sums_("quern::strategy::metric_sums"),
      host_flags_("quern::strategy::host_flags") {
  set_position({});
}

void StepCounters::set_position(const TrainingProgress& progress) {
  quern::set_position(scalars_, seed_, progress);
  const auto metric_sums = Kokkos::create_mirror_view(metric_sums_);
  metric_sums() = MetricSums{};
  metric_sums().loss_sum = progress.epoch_loss_sum;
  metric_sums().correct = progress.epoch_correct;
  metric_sums().samples = progress.epoch_samples;
  Kokkos::deep_copy(metric_sums_, metric_sums);
  epoch_ = progress.epoch;
  steps_ = progress.step;
  cursor_ = progress.cursor;
  plateaus_ = progress.plateaus;
  plateau_epoch_ = progress.plateau_epoch;
}

void StepCounters::begin_batch(const ExecSpace& exec, int samples, const FloatView& vote) const {
  quern::begin_batch(exec, scalars_, samples, host_flags_, vote);
}

void StepCounters::end_batch(const ExecSpace& exec, int samples,
                             const ReducedGradient& gradient) const {
  quern::end_batch(exec, scalars_, samples, gradient.sums, gradient.votes, metric_sums_,
                   host_flags_);
}

std::int64_t StepCounters::cursor_of_kernels() const {
  return read_scalar(scalars_).cursor;
}

StepReport StepCounters::report() const {
  const StepScalars scalars = read_scalar(scalars_);
  const MetricSums metric_sums = read_scalar(metric_sums_);
  StepReport report;
  report.progress = {scalars.step,        scalars.epoch,       scalars.cursor, metric_sums.loss_sum,
                     metric_sums.correct, metric_sums.samples, plateaus_,      plateau_epoch_};
  report.loss = metric_sums.batch_loss;
  report.correct = metric_sums.batch_correct;
  report.diverged = !scalars.apply_updates;
  report.stop = metric_sums.votes > 0;
  report.rank_loss = metric_sums.rank_loss;
  return report;
}

}  // namespace quern

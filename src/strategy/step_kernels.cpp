// SPDX-License-Identifier: Apache-2.0
#include "strategy/step_kernels.hpp"

#include "tensor/parallel_for.hpp"

namespace quern {

void begin_batch(const ExecSpace& exec, const StepScalarsView& scalars, int samples,
                 const HostFlagsView& host, const FloatView& vote) {
  run_single_item(
      exec, "quern::strategy::begin_batch", KOKKOS_LAMBDA() {
        scalars().inverse_count = 1.0f / static_cast<float>(samples);
        scalars().gradient_scale = 1.0f;
        if (vote.extent(0) > 0) vote(0) = host().vote;
      });
}

void reset_metric_sums(const ExecSpace& exec, const MetricSumsView& metric_sums) {
  run_single_item(
      exec, "quern::strategy::reset_metric_sums",
      KOKKOS_LAMBDA() { metric_sums() = MetricSums{}; });
}

void check_loss_finite(const ExecSpace& exec, const StepScalarsView& scalars,
                       const ConstFloatView& sums) {
  run_single_item(
      exec, "quern::strategy::check_loss_finite", KOKKOS_LAMBDA() {
        if (!Kokkos::isfinite(sums(Loss::kLoss))) scalars().apply_updates = false;
      });
}

void add_rank_loss(const ExecSpace& exec, const ConstFloatView& row_values, const BatchPlan& plan,
                   const MetricSumsView& metric_sums) {
  const int rows = plan.rows();
  if (plan.num_samples == 0) return;
  run_single_item(
      exec, "quern::strategy::add_rank_loss", KOKKOS_LAMBDA() {
        double sum = metric_sums().rank_batch_loss;
        for (int row = 0; row < rows; ++row) {
          sum += double{row_values(row * Loss::kColumns + Loss::kLoss)};
        }
        metric_sums().rank_batch_loss = sum;
      });
}

void end_rank_loss(const ExecSpace& exec, int num_samples, const MetricSumsView& metric_sums) {
  if (num_samples == 0) return;
  run_single_item(
      exec, "quern::strategy::end_rank_loss", KOKKOS_LAMBDA() {
        metric_sums().rank_loss += metric_sums().rank_batch_loss / num_samples;
        metric_sums().rank_batch_loss = 0;
      });
}

void end_batch(const ExecSpace& exec, const StepScalarsView& scalars, int samples,
               const ConstFloatView& sums, const ConstFloatView& votes,
               const MetricSumsView& metric_sums, const HostFlagsView& host) {
  run_single_item(
      exec, "quern::strategy::end_batch", KOKKOS_LAMBDA() {
        host().batches_ended += 1;
        MetricSums& count = metric_sums();
        if (Kokkos::isfinite(count.batch_loss)) count.batch_loss = sums(Loss::kLoss);
        count.batch_correct = sums(Loss::kCorrect);
        if (votes.extent(0) > 0) count.votes += votes(0);
        if (!scalars().apply_updates) return;
        count.loss_sum += double{count.batch_loss};
        // NOLINTNEXTLINE(bugprone-incorrect-roundings): a count, never negative
        count.correct += static_cast<std::int64_t>(double{count.batch_correct} + 0.5);
        count.samples += samples;
        scalars().step += 1;
        scalars().cursor += samples;
      });
}

void add_batch_loss(const ExecSpace& exec, const ConstFloatView& sums,
                    const MetricSumsView& metric_sums) {
  run_single_item(
      exec, "quern::strategy::add_batch_loss",
      KOKKOS_LAMBDA() { metric_sums().loss_sum += double{sums(Loss::kLoss)}; });
}

void advance_position(const ExecSpace& exec, const StepScalarsView& scalars, int samples) {
  run_single_item(
      exec, "quern::strategy::advance_position", KOKKOS_LAMBDA() {
        scalars().step += 1;
        scalars().cursor += samples;
      });
}

void set_position(const StepScalarsView& scalars, std::uint64_t seed,
                  const TrainingProgress& progress) {
  const auto host = Kokkos::create_mirror_view(scalars);
  Kokkos::deep_copy(host, scalars);
  host().step = progress.step;
  host().epoch = progress.epoch;
  host().cursor = progress.cursor;
  host().plateaus = progress.plateaus;
  host().seed = seed;
  host().apply_updates = true;
  Kokkos::deep_copy(scalars, host);
}

}  // namespace quern

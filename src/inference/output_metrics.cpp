// SPDX-License-Identifier: Apache-2.0
#include "inference/output_metrics.hpp"

#include "inference/row_answers.hpp"

namespace quern {

OutputMetrics::OutputMetrics(const Model& model, const Samples& samples)
    : model_(model),
      samples_(samples),
      outputs_(model.whole().output_shape().units()),
      counts_(static_cast<std::size_t>(outputs_) * kColumns) {}

void OutputMetrics::add(const ExecSpace& exec, const BatchPlan& plan) {
  if (!model_.puts_out()) return;
  const std::vector<float> targets = targets_of_rows(exec, model_, samples_, plan.rows());
  const Activation& output = model_.activations().output();
  const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), output.data);
  const ActivationIndex at(output);
  // Empty rows: targets of 0 would not count, but what the network makes of nothing might.
  const auto samples =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), model_.sample_of_row());
  for (int row = 0; row < plan.rows(); ++row) {
    if (samples(row) < 0) continue;
    const auto first = static_cast<std::size_t>(row) * static_cast<std::size_t>(outputs_);
    for (int unit = 0; unit < outputs_; ++unit) {
      // Logits: their probability is above 1/2 where they are above 0.
      const bool says_yes = values(static_cast<std::size_t>(at(row, unit))) > 0;
      const bool is_yes = targets[first + static_cast<std::size_t>(unit)] > 0.5f;
      std::int64_t* of_output = &counts_[static_cast<std::size_t>(unit) * kColumns];
      of_output[0] += is_yes ? 1 : 0;
      of_output[1] += says_yes ? 1 : 0;
      of_output[2] += is_yes && says_yes ? 1 : 0;
    }
  }
}

void OutputMetrics::sum(Communicator& comm) {
  comm.all_reduce_sum(std::span(counts_));
}

}  // namespace quern

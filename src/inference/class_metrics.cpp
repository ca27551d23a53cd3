// SPDX-License-Identifier: Apache-2.0
#include "inference/class_metrics.hpp"

#include <string>

#include "base/error.hpp"
#include "inference/prediction.hpp"
#include "inference/row_answers.hpp"

namespace quern {

namespace {

bool is_in_top(std::span<const float> outputs, int label, int top) {
  const float own = outputs[static_cast<std::size_t>(label)];
  int before = 0;
  for (int unit = 0; unit < static_cast<int>(outputs.size()); ++unit) {
    const float other = outputs[static_cast<std::size_t>(unit)];
    before += other > own || (other == own && unit < label);
  }
  return before < top;
}

}  // namespace

ClassMetrics::ClassMetrics(const Model& model, const Samples& samples)
    : model_(model), outputs_(model.whole().output_shape().units()), samples_(samples) {
  if (outputs_ > kMaxReportedClasses) {
    throw InputError("--metrics: the network has " + std::to_string(outputs_) +
                     " outputs, expected at most " + std::to_string(kMaxReportedClasses));
  }
  counts_.resize(static_cast<std::size_t>(outputs_) * static_cast<std::size_t>(outputs_) + 1);
}

void ClassMetrics::add(const ExecSpace& exec, const BatchPlan& plan) {
  if (!model_.puts_out()) return;
  const std::vector<std::int32_t> labels = labels_of_rows(exec, model_, samples_, plan.rows());
  const Activation& output = model_.activations().output();
  const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), output.data);
  const ActivationIndex at(output);
  std::vector<float> outputs(static_cast<std::size_t>(outputs_));
  for (int row = 0; row < plan.rows(); ++row) {
    const int label = labels[static_cast<std::size_t>(row)];
    if (label < 0) continue;
    for (int unit = 0; unit < outputs_; ++unit)
      outputs[static_cast<std::size_t>(unit)] = values(static_cast<std::size_t>(at(row, unit)));
    const int best = prediction_of(outputs, -1).best;
    ++counts_[place(label, best)];
    counts_.back() += is_in_top(outputs, label, kTop);
  }
}

void ClassMetrics::sum(Communicator& comm) {
  comm.all_reduce_sum(std::span(counts_));
}

std::int64_t ClassMetrics::wanted(int label) const {
  std::int64_t sum = 0;
  for (int predicted = 0; predicted < outputs_; ++predicted) sum += count(label, predicted);
  return sum;
}

std::int64_t ClassMetrics::predicted(int label) const {
  std::int64_t sum = 0;
  for (int wanted = 0; wanted < outputs_; ++wanted) sum += count(wanted, label);
  return sum;
}

}  // namespace quern

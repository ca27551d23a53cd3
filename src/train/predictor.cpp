// SPDX-License-Identifier: Apache-2.0
#include "train/predictor.hpp"

#include <algorithm>
#include <cmath>

#include "strategy/step_kernels.hpp"

namespace quern {

namespace {

BatchPlan plan_of(const Model& model, int samples) {
  return make_batch_plan({samples, model.network().row_multiple(), Determinism::rank_invariant},
                         samples, 0, 1);
}

/// `label` < 0: there is none.
Prediction prediction_of(const Activation& output, const std::vector<float>& values, int row,
                         int label) {
  const ActivationIndex at(output);
  const auto value = [&](int unit) { return values[static_cast<std::size_t>(at(row, unit))]; };
  const int units = output.shape.units();
  Prediction prediction;
  for (int unit = 1; unit < units; ++unit)
    if (value(unit) > value(prediction.best)) prediction.best = unit;
  const double largest = value(prediction.best);
  double sum = 0;  // of exponentials, of which none overflows
  for (int unit = 0; unit < units; ++unit) sum += std::exp(value(unit) - largest);
  prediction.probability = 1 / sum;
  if (label >= 0) prediction.loss = largest + std::log(sum) - value(label);
  return prediction;
}

std::vector<int> labels_of(const Samples& samples) {
  if (samples.labels.size() == 0) return std::vector<int>(samples.count, -1);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), samples.labels);
  return std::vector<int>(host.data(), host.data() + host.extent(0));
}

}  // namespace

int predictor_rows(const Model& model, int batch) {
  return plan_of(model, batch).rows();
}

std::vector<Prediction> predict_samples(Model& model, const Samples& samples, int batch) {
  const ExecSpace exec;
  const StepScalarsView scalars("quern::train::prediction_scalars");
  set_position(scalars, 0, 0, 0, 0);
  const std::vector<int> labels = labels_of(samples);
  std::vector<Prediction> predictions;
  while (static_cast<std::int64_t>(predictions.size()) < samples.count) {
    const auto left = samples.count - static_cast<std::int64_t>(predictions.size());
    const BatchPlan plan = plan_of(model, static_cast<int>(std::min<std::int64_t>(batch, left)));
    const StepContext step = model.context(plan, Mode::evaluate, scalars, {});
    model.load_batch(exec, plan, samples, {}, scalars);
    model.network().forward(exec, step, model.activations());
    end_batch(exec, scalars, plan.samples());
    exec.fence("quern::train::predict_samples");
    const Activation& output = model.activations().output();
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), output.data);
    const std::vector<float> values(host.data(), host.data() + host.extent(0));
    for (int row = 0; row < plan.num_samples; ++row) {
      predictions.push_back(prediction_of(output, values, row, labels[predictions.size()]));
    }
  }
  return predictions;
}

}  // namespace quern

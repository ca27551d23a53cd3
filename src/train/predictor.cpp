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

}  // namespace

int predictor_rows(const Model& model, int batch) {
  return plan_of(model, batch).rows();
}

Prediction prediction_of(std::span<const float> outputs, int label) {
  Prediction prediction;
  for (std::size_t unit = 1; unit < outputs.size(); ++unit) {
    if (outputs[unit] > outputs[static_cast<std::size_t>(prediction.best)])
      prediction.best = static_cast<int>(unit);
  }
  const double largest = outputs[static_cast<std::size_t>(prediction.best)];
  double sum = 0;  // of exponentials, of which none overflows
  for (const float output : outputs) sum += std::exp(output - largest);
  prediction.probability = 1 / sum;
  if (label >= 0)
    prediction.loss = largest + std::log(sum) - outputs[static_cast<std::size_t>(label)];
  return prediction;
}

void predict(Model& model, const Samples& samples, int batch, const TakeOutputs& take) {
  const ExecSpace exec;
  const StepScalarsView scalars("quern::train::prediction_scalars");
  set_position(scalars, 0, 0, 0, 0);
  std::vector<float> outputs(static_cast<std::size_t>(model.network().output_shape().units()));
  for (std::int64_t done = 0; done < samples.count;) {
    const BatchPlan plan =
        plan_of(model, static_cast<int>(std::min<std::int64_t>(batch, samples.count - done)));
    const StepContext step = model.context(plan, Mode::evaluate, scalars, {});
    model.load_batch(exec, plan, samples, {}, scalars);
    model.network().forward(exec, step, model.activations());
    end_batch(exec, scalars, plan.samples());
    exec.fence("quern::train::predict_samples");
    const Activation& output = model.activations().output();
    const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), output.data);
    const ActivationIndex at(output);
    for (int row = 0; row < plan.num_samples; ++row) {
      for (std::size_t unit = 0; unit < outputs.size(); ++unit)
        outputs[unit] = values(static_cast<std::size_t>(at(row, static_cast<int>(unit))));
      take(outputs);
    }
    done += plan.samples();
  }
}

}  // namespace quern

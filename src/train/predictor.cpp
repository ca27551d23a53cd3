// SPDX-License-Identifier: Apache-2.0
#include "train/predictor.hpp"

#include <algorithm>

#include "strategy/step_kernels.hpp"

namespace quern {

namespace {

BatchPlan plan_of(const Model& model, int samples) {
  return make_batch_plan({samples, model.network().row_multiple(), Determinism::rank_invariant},
                         samples, 0, 1);
}

int largest_output(const Activation& output, const std::vector<float>& values, int row) {
  const ActivationIndex at(output);
  int best = 0;
  for (int unit = 1; unit < output.shape.units(); ++unit) {
    if (values[static_cast<std::size_t>(at(row, unit))] >
        values[static_cast<std::size_t>(at(row, best))]) {
      best = unit;
    }
  }
  return best;
}

}  // namespace

int predictor_rows(const Model& model, int batch) {
  return plan_of(model, batch).rows();
}

std::vector<int> predict_classes(Model& model, const Samples& samples, int batch) {
  const ExecSpace exec;
  const StepScalarsView scalars("quern::train::prediction_scalars");
  set_position(scalars, 0, 0, 0, 0);
  std::vector<int> classes;
  while (static_cast<std::int64_t>(classes.size()) < samples.count) {
    const auto left = samples.count - static_cast<std::int64_t>(classes.size());
    const BatchPlan plan = plan_of(model, static_cast<int>(std::min<std::int64_t>(batch, left)));
    const StepContext step = model.context(plan, Mode::evaluate, scalars, {});
    model.load_batch(exec, plan, samples, {}, scalars);
    model.network().forward(exec, step, model.activations());
    end_batch(exec, scalars, plan.samples());
    exec.fence("quern::train::predict_classes");
    const Activation& output = model.activations().output();
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), output.data);
    const std::vector<float> values(host.data(), host.data() + host.extent(0));
    for (int row = 0; row < plan.num_samples; ++row) {
      classes.push_back(largest_output(output, values, row));
    }
  }
  return classes;
}

}  // namespace quern

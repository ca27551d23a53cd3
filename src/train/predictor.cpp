// SPDX-License-Identifier: Apache-2.0
#include "train/predictor.hpp"

#include <algorithm>
#include <cmath>

#include "strategy/step_kernels.hpp"

namespace quern {

namespace {

// Consecutive samples for each rank along the data axis, `batch` for all but the last ones.
BatchPlan plan_of(const Model& model, int batch, int samples, int rank, int num_ranks) {
  return make_batch_plan(
      {std::min(batch, samples), model.row_multiple(), Determinism::rank_invariant}, samples, rank,
      num_ranks);
}

/// This rank's outputs, row by row.
std::vector<float> outputs_of(const Model& model, int num_samples) {
  const Activation& output = model.activations().output();
  const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), output.data);
  const ActivationIndex at(output);
  std::vector<float> outputs;
  for (int row = 0; row < num_samples; ++row)
    for (int unit = 0; unit < output.shape.units(); ++unit)
      outputs.push_back(values(static_cast<std::size_t>(at(row, unit))));
  return outputs;
}

/// To rank 0 the outputs of all, in the order of the samples.
std::vector<float> collect(const ProcessGrid& grid, const BatchPlan& plan, std::int64_t units,
                           const std::vector<float>& own) {
  Communicator& world = grid.world();
  const GridShape& shape = grid.shape();
  std::vector<Segment> send_to(static_cast<std::size_t>(world.size()));
  std::vector<Segment> receive_from(send_to.size());
  send_to.front().count = static_cast<std::int64_t>(own.size());
  std::vector<float> all;
  if (world.rank() == 0) {
    std::int64_t received = 0;
    for (int rank = 0; rank < world.size(); ++rank) {
      const GridPlace place = grid_place(shape, rank);
      const bool puts_out = place.pipeline + 1 == shape.pipeline && place.tensor == 0;
      const std::int64_t count = puts_out ? plan.partition.num_samples(place.data) * units : 0;
      receive_from[static_cast<std::size_t>(rank)] = {received, count};
      received += count;
    }
    all.resize(static_cast<std::size_t>(received));
  }
  world.all_to_all_v(own, send_to, all, receive_from);
  return all;
}

}  // namespace

int predictor_rows(const Model& model, int batch) {
  return plan_of(model, batch, batch, 0, 1).rows();
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

void predict(const ProcessGrid& grid, Model& model, const Samples& samples, int batch,
             const TakeOutputs& take) {
  const ExecSpace exec;
  const StepScalarsView scalars("quern::train::prediction_scalars");
  set_position(scalars, 0, 0, 0, 0);
  const int ranks = grid.data().size();
  const auto units = static_cast<std::size_t>(model.whole().output_shape().units());
  for (std::int64_t done = 0; done < samples.count;) {
    const auto count =
        static_cast<int>(std::min<std::int64_t>(std::int64_t{batch} * ranks, samples.count - done));
    const BatchPlan plan = plan_of(model, batch, count, grid.data().rank(), ranks);
    const StepContext step = model.context(plan, Mode::evaluate, scalars, {});
    model.load_batch(exec, plan, samples, {}, scalars);
    model.forward(exec, step);
    end_batch(exec, scalars, plan.samples());
    exec.fence("quern::train::predict_samples");
    const std::vector<float> own =
        model.puts_out() ? outputs_of(model, plan.num_samples) : std::vector<float>{};
    const std::vector<float> all = collect(grid, plan, static_cast<std::int64_t>(units), own);
    for (std::size_t i = 0; i < all.size(); i += units) take({all.data() + i, units});
    done += count;
  }
}

}  // namespace quern

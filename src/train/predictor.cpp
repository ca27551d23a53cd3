// SPDX-License-Identifier: Apache-2.0
#include "train/predictor.hpp"

#include <algorithm>
#include <cmath>

#include "base/stopwatch.hpp"
#include "strategy/step_kernels.hpp"

namespace quern {

namespace {

// Consecutive samples for each rank along the data axis, `batch` for all but the last ones.
BatchPlan plan_of(const Model& model, int batch, int samples, int rank, int num_ranks) {
  return make_batch_plan(
      {std::min(batch, samples), model.row_multiple(), Determinism::rank_invariant}, samples, rank,
      num_ranks);
}

/// Outputs of one batch after the other, row by row.
class Outputs {
 public:
  explicit Outputs(const ProcessGrid& grid, const Model& model)
      : grid_(grid),
        model_(model),
        send_to_(static_cast<std::size_t>(grid.world().size())),
        receive_from_(send_to_.size()) {}

  /// On rank 0 those of all, in the order of the samples, until the next call; elsewhere nothing.
  std::span<const float> collect(const BatchPlan& plan) {
    own_.clear();
    if (model_.puts_out()) read_own(plan.num_samples);
    if (grid_.world().size() == 1) return own_;
    send_to_.front().count = static_cast<std::int64_t>(own_.size());
    if (grid_.world().rank() == 0) all_.resize(receive(plan));
    grid_.world().all_to_all_v(own_, send_to_, all_, receive_from_);
    return all_;
  }

 private:
  void read_own(int num_samples) {
    const Activation& output = model_.activations().output();
    const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), output.data);
    const ActivationIndex at(output);
    const int units = output.shape.units();
    own_.reserve(static_cast<std::size_t>(num_samples) * static_cast<std::size_t>(units));
    for (int row = 0; row < num_samples; ++row)
      for (int unit = 0; unit < units; ++unit)
        own_.push_back(values(static_cast<std::size_t>(at(row, unit))));
  }

  // Floats from all ranks.
  std::size_t receive(const BatchPlan& plan) {
    const GridShape& shape = grid_.shape();
    const std::int64_t units = model_.whole().output_shape().units();
    std::int64_t received = 0;
    for (int rank = 0; rank < grid_.world().size(); ++rank) {
      const GridPlace place = grid_place(shape, rank);
      const bool puts_out = place.pipeline + 1 == shape.pipeline && place.tensor == 0;
      const std::int64_t count = puts_out ? plan.partition.num_samples(place.data) * units : 0;
      receive_from_[static_cast<std::size_t>(rank)] = {received, count};
      received += count;
    }
    return static_cast<std::size_t>(received);
  }

  const ProcessGrid& grid_;
  const Model& model_;
  std::vector<float> own_;
  std::vector<float> all_;
  std::vector<Segment> send_to_;
  std::vector<Segment> receive_from_;
};

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
             const TakeOutputs& take, std::vector<double>* seconds) {
  const ExecSpace exec;
  const StepScalarsView scalars("quern::train::prediction_scalars");
  set_position(scalars, 0, 0, 0, 0);
  const int ranks = grid.data().size();
  const auto units = static_cast<std::size_t>(model.whole().output_shape().units());
  Outputs outputs(grid, model);
  BatchPlan plan;
  int planned = 0;  // samples
  for (std::int64_t done = 0; done < samples.count;) {
    const Stopwatch watch;
    const auto count =
        static_cast<int>(std::min<std::int64_t>(std::int64_t{batch} * ranks, samples.count - done));
    if (count != planned) plan = plan_of(model, batch, count, grid.data().rank(), ranks);
    planned = count;
    const StepContext step = model.context(plan, Mode::evaluate, scalars, {});
    model.load_batch(exec, plan, samples, {}, scalars);
    model.forward(exec, step);
    model.restore_units(exec, samples);
    end_batch(exec, scalars, plan.samples());
    exec.fence("quern::train::predict_samples");
    const std::span<const float> all = outputs.collect(plan);
    if (seconds) seconds->push_back(watch.seconds());
    for (std::size_t i = 0; i < all.size(); i += units) take(all.subspan(i, units));
    done += count;
  }
}

}  // namespace quern

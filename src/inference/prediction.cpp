// SPDX-License-Identifier: Apache-2.0
#include "inference/prediction.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "comm/agree.hpp"
#include "inference/row_answers.hpp"
#include "strategy/sample_stream.hpp"
#include "strategy/step_kernels.hpp"

namespace quern {

namespace {

BatchPlan plan_of(const Model& model, int batch, int samples, int rank, int num_ranks) {
  return make_batch_plan(
      {std::min(batch, samples), model.row_multiple(), Determinism::rank_invariant}, samples, rank,
      num_ranks);
}

/// Outputs of one batch after the other: for each sample its outputs, and behind them the bits of
/// its label where samples have them, or its targets.
class Outputs {
 public:
  Outputs(const ProcessGrid& grid, const Model& model, const Samples& samples)
      : grid_(grid),
        model_(model),
        samples_(samples),
        send_to_(static_cast<std::size_t>(grid.world().size())),
        receive_from_(send_to_.size()) {}

  bool has_labels() const { return samples_.has_labels(); }
  int units() const { return model_.whole().output_shape().units(); }
  /// Floats of one sample.
  int width() const { return units() + (has_labels() ? 1 : num_targets()); }

  /// `of_sample`: width() floats.
  SampleOutputs split(std::span<const float> of_sample) const {
    const auto count = static_cast<std::size_t>(units());
    const std::span<const float> rest = of_sample.subspan(count);
    if (has_labels()) return {of_sample.first(count), std::bit_cast<std::int32_t>(rest.front())};
    return {of_sample.first(count), -1, rest};
  }

  /// On rank 0 those of all, in the order of the samples, until the next call; elsewhere nothing.
  /// The batch must have been computed.
  std::span<const float> collect(const ExecSpace& exec, const BatchPlan& plan) {
    own_.clear();
    if (model_.puts_out()) read_own(exec, plan.num_samples);
    if (grid_.world().size() == 1) return own_;
    send_to_.front().count = static_cast<std::int64_t>(own_.size());
    if (grid_.world().rank() == 0) all_.resize(receive(plan));
    grid_.world().all_to_all_v(own_, send_to_, all_, receive_from_);
    return all_;
  }

 private:
  int num_targets() const {
    return samples_.has_targets() ? static_cast<int>(samples_.target_units()) : 0;
  }

  void read_own(const ExecSpace& exec, int num_samples) {
    std::vector<std::int32_t> labels;
    std::vector<float> targets;
    if (num_targets() > 0) targets = targets_of_rows(exec, model_, samples_, num_samples);
    if (has_labels()) labels = labels_of_rows(exec, model_, samples_, num_samples);
    const Activation& output = model_.activations().output();
    const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), output.data);
    const ActivationIndex at(output);
    own_.reserve(static_cast<std::size_t>(num_samples) * static_cast<std::size_t>(width()));
    for (int row = 0; row < num_samples; ++row) {
      for (int unit = 0; unit < units(); ++unit)
        own_.push_back(values(static_cast<std::size_t>(at(row, unit))));
      if (has_labels()) own_.push_back(std::bit_cast<float>(labels[static_cast<std::size_t>(row)]));
      if (num_targets() > 0) {
        const auto begin = targets.begin() + std::ptrdiff_t{row} * num_targets();
        own_.insert(own_.end(), begin, begin + num_targets());
      }
    }
  }

  // Floats from all ranks.
  std::size_t receive(const BatchPlan& plan) {
    const GridShape& shape = grid_.shape();
    std::int64_t received = 0;
    for (int rank = 0; rank < grid_.world().size(); ++rank) {
      const GridPlace place = grid_place(shape, rank);
      const bool puts_out = place.pipeline + 1 == shape.pipeline && place.tensor == 0;
      const std::int64_t count =
          puts_out ? plan.partition.num_samples(place.data) * std::int64_t{width()} : 0;
      receive_from_[static_cast<std::size_t>(rank)] = {received, count};
      received += count;
    }
    return static_cast<std::size_t>(received);
  }

  const ProcessGrid& grid_;
  const Model& model_;
  const Samples& samples_;
  std::vector<float> own_;
  std::vector<float> all_;
  std::vector<Segment> send_to_;
  std::vector<Segment> receive_from_;
};

}  // namespace

int predictor_rows(const Model& model, int batch) {
  return plan_of(model, batch, batch, 0, 1).rows();
}

namespace {

// Of exp(output - largest), of which none overflows.
double sum_of_powers(std::span<const float> outputs, double largest) {
  double sum = 0;
  for (const float output : outputs) sum += std::exp(output - largest);
  return sum;
}

}  // namespace

Prediction prediction_of(std::span<const float> outputs, int label, const LossSpec& loss) {
  Prediction prediction;
  for (std::size_t unit = 1; unit < outputs.size(); ++unit) {
    if (outputs[unit] > outputs[static_cast<std::size_t>(prediction.best)])
      prediction.best = static_cast<int>(unit);
  }
  const double largest = outputs[static_cast<std::size_t>(prediction.best)];
  const double sum = sum_of_powers(outputs, largest);
  prediction.probability = 1 / sum;
  if (label >= 0) {
    const double log_total = largest + std::log(sum);
    const double share = loss.label_smoothing / static_cast<double>(outputs.size());
    const std::vector<double>& weights = loss.class_weights.values;
    const auto term = [&](std::size_t unit) {
      return (weights.empty() ? 1 : weights[unit]) * (log_total - outputs[unit]);
    };
    prediction.loss = (1 - loss.label_smoothing) * term(static_cast<std::size_t>(label));
    if (share > 0)
      for (std::size_t unit = 0; unit < outputs.size(); ++unit)
        prediction.loss += share * term(unit);
  }
  return prediction;
}

void put_probabilities(std::span<const float> outputs, std::span<float> probabilities) {
  const double largest = outputs[static_cast<std::size_t>(prediction_of(outputs, -1).best)];
  const double sum = sum_of_powers(outputs, largest);
  std::transform(outputs.begin(), outputs.end(), probabilities.begin(), [&](float output) {
    return static_cast<float>(std::exp(output - largest) / sum);
  });
}

BatchRule prediction_batches(int batch, int num_ranks, std::int64_t num_samples) {
  const std::int64_t global_batch = std::int64_t{batch} * num_ranks;
  if (std::min(global_batch, num_samples) > kMaxGlobalBatch) {
    throw InputError("batches of " + std::to_string(batch) + " samples on " +
                     std::to_string(num_ranks) + " ranks are " + std::to_string(global_batch) +
                     " samples at a time, expected at most " + std::to_string(kMaxGlobalBatch));
  }
  BatchRule rule = batches_of(full_batch_of(global_batch, num_samples), num_samples);
  rule.block_samples = std::min(batch, rule.full_batch);
  return rule;
}

void predict(const ProcessGrid& grid, Model& model, const Samples& samples, int batch,
             const TakeOutputs& take, std::vector<double>* seconds) {
  const ExecSpace exec;
  const StepScalarsView scalars("quern::inference::prediction_scalars");
  set_position(scalars, 0, {});
  const int ranks = grid.data().size();
  const BatchRule batches = prediction_batches(batch, ranks, samples.count);
  const Sampling sampling{.windows = samples.stream ? samples.stream->plan() : WindowPlan{}};
  Outputs outputs(grid, model, samples);
  const auto width = static_cast<std::size_t>(outputs.width());
  BatchPlan plan;
  int planned = 0;  // samples
  for (std::int64_t done = 0; done < samples.count;) {
    if (samples.stream) agree(grid.world(), [&] { samples.stream->prepare(0, done); });
    const Stopwatch watch;
    const int count = batches.is_short(done) ? batches.last_batch : batches.full_batch;
    if (count != planned) plan = plan_of(model, batch, count, grid.data().rank(), ranks);
    planned = count;
    const StepContext step = model.context(plan, Mode::evaluate, scalars, {});
    model.load_batch(exec, plan, samples, sampling, scalars);
    model.forward(exec, step, samples);
    model.restore_units(exec, samples);
    advance_position(exec, scalars, plan.samples());
    model.wait(exec);
    const std::span<const float> all = outputs.collect(exec, plan);
    // A short batch by itself takes less time: it counts where there is no other.
    if (seconds && (done == 0 || !batches.is_short(done))) seconds->push_back(watch.seconds());
    run_on_root(grid.world(), [&] {
      for (std::size_t i = 0; i < all.size(); i += width)
        take(outputs.split(all.subspan(i, width)));
    });
    done += count;
  }
}

}  // namespace quern

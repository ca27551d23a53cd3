// SPDX-License-Identifier: Apache-2.0
#include "strategy/batch_loader.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "layers/gather.hpp"
#include "layers/layout.hpp"
#include "strategy/sample_stream.hpp"

namespace quern {

void check_target(const Recipe& recipe, const Network& network) {
  const Shape& output = network.output_shape();
  if (recipe.data.target == TargetType::input && output.units() != network.input_shape().units()) {
    throw InputError("data.target = \"input\": the network puts out " + to_string(output) +
                     ", expected as many values as its input " + to_string(network.input_shape()) +
                     " has");
  }
  const NormalizeSpec& targets = recipe.data.normalize_targets;
  if (targets.type != NormalizeType::given) return;
  for (const auto& [key, values] : {std::pair("mean", &targets.mean), {"std", &targets.std}}) {
    if (values->size() == 1 || values->size() == static_cast<std::size_t>(output.channels))
      continue;
    throw InputError("data.normalize_targets." + std::string(key) + ": " +
                     std::to_string(values->size()) + " numbers for the " +
                     std::to_string(output.channels) + " channels of what the network puts out, " +
                     to_string(output) + ", expected one for each, or one for all");
  }
}

BatchLoader::BatchLoader(const Recipe& recipe, const StagePlace& place, const Network& network,
                         const Network& whole, const Loss& loss)
    : target_type_(recipe.data.target),
      place_(place),
      network_(&network),
      whole_(&whole),
      loss_(&loss),
      has_windows_(recipe.data.augment.is_active() && place.is_first()),
      normalize_(recipe.data.normalize),
      normalize_targets_(recipe.data.normalize_targets) {
  check_target(recipe, whole);
}

void BatchLoader::allocate(int max_rows) {
  if (normalize_targets_.type == NormalizeType::given) {
    target_normalization_ =
        make_normalization(whole_->output_shape(), normalize_targets_.mean, normalize_targets_.std);
    if (const double unit = error_unit(); unit != 1) {
      NormalizeSpec scaled = normalize_targets_;
      for (std::vector<double>* values : {&scaled.mean, &scaled.std})
        for (double& value : *values) value /= unit;
      error_normalization_ = make_normalization(whole_->output_shape(), scaled.mean, scaled.std);
      to_error_unit_ =
          make_normalization(whole_->output_shape(), std::vector{0.0}, std::vector{1 / unit});
    }
  }
  if (normalize_.type != NormalizeType::given) return;
  normalization_ = make_normalization(whole_->input_shape(), normalize_.mean, normalize_.std);
  if (!place_.is_first() || network_->input_layout() != Layout::tiles) return;
  unrounded_ = allocate_activation("quern::strategy::unrounded_input", whole_->input_shape(),
                                   flat_layout(), max_rows);
}

LoadedBatch BatchLoader::allocate_batch(const BatchLimit& most, const Activations* beside) const {
  LoadedBatch batch;
  batch.activations = network_->allocate(most, beside);
  const auto rows = static_cast<std::size_t>(most.rows);
  batch.sample_of_row = View<std::int64_t>("quern::strategy::sample_of_row", rows);
  batch.place_of_row = View<std::int64_t>("quern::strategy::place_of_row", rows);
  if (has_windows_) batch.window_of_row = View<Window>("quern::strategy::window_of_row", rows);
  if (target_type_ == TargetType::label || !place_.is_last()) return batch;
  if (target_is_input()) {
    batch.target = batch.activations.input();
    batch.target.shape = network_->output_shape();
  } else {
    batch.target = allocate_activation("quern::strategy::target", network_->output_shape(),
                                       network_->output_layout(), most.rows);
  }
  return batch;
}

bool BatchLoader::target_is_input() const {
  return target_type_ == TargetType::input && place_.is_first() &&
         network_->input_layout() == network_->output_layout();
}

void BatchLoader::load(const ExecSpace& exec, const BatchPlan& plan, const Samples& samples,
                       const Sampling& sampling, const StepScalarsView& scalars,
                       LoadedBatch& to) const {
  to.activations.set_rows(plan.rows(), plan.schedule.block_rows);
  to.target.rows = plan.rows();
  const WindowBuffers buffers = samples.stream ? samples.stream->buffers() : WindowBuffers{};
  assign_rows(exec, plan, {samples.count, sampling.shuffle, sampling.windows, buffers}, scalars,
              to.sample_of_row, samples.stream ? to.place_of_row : View<std::int64_t>());
  View<const Window> windows;
  if (has_windows_ && sampling.augment.is_active()) {
    draw_windows(exec, sampling.augment, scalars, to.sample_of_row, plan.rows(), to.window_of_row);
    windows = to.window_of_row;
  }
  if (place_.is_first() && !rounds_target(samples))
    gather_samples(exec, samples, to.places(samples), windows, to.activations.input());
  if (place_.is_last()) gather_target(exec, samples, to);
}

namespace {

/// The same units under the shape of another array.
Activation shaped(Activation array, const Shape& shape) {
  array.shape = shape;
  return array;
}

}  // namespace

void BatchLoader::gather_samples(const ExecSpace& exec, const Samples& samples,
                                 const View<const std::int64_t>& place_of_row,
                                 const View<const Window>& windows, const Activation& y) const {
  if (normalization_.is_active() && y.layout == Layout::tiles) {
    Activation unrounded = unrounded_;
    unrounded.rows = y.rows;
    gather_samples(exec, samples, place_of_row, windows, unrounded);
    convert_layout(exec, unrounded, y);
    return;
  }
  if (samples.has_images())
    gather_images(exec, samples.images, place_of_row, y, windows);
  else
    gather_values(exec, samples.values, place_of_row, y, windows);
  if (normalization_.is_active()) normalize(exec, normalization_, place_of_row, y);
}

bool BatchLoader::compares_pixels(const Samples& samples) const {
  return target_type_ == TargetType::input && place_.is_last() && !target_is_input() &&
         samples.has_images() && !normalization_.is_active() && loss_->compares_pixels() &&
         network_->output_layout() == Layout::cn16c;
}

// From a target in cn16c it is quicker to round it than to gather the samples again.
bool BatchLoader::rounds_target(const Samples& samples) const {
  return target_type_ == TargetType::input && place_.is_first() && place_.is_last() &&
         network_->input_layout() == Layout::tiles && network_->output_layout() == Layout::cn16c &&
         !compares_pixels(samples);
}

void BatchLoader::gather_target(const ExecSpace& exec, const Samples& samples,
                                const LoadedBatch& batch) const {
  if (target_type_ == TargetType::values) {
    // Samples that are only to be predicted come without.
    if (!samples.has_targets()) return;
    const View<const std::int64_t> place_of_row = batch.places(samples);
    gather_values(exec, samples.targets, place_of_row, batch.target);
    if (target_normalization_.is_active())
      normalize(exec, target_normalization_, place_of_row, batch.target);
    return;
  }
  if (target_type_ != TargetType::input || target_is_input() || compares_pixels(samples)) return;
  const Activation& input = batch.activations.input();
  // A rounded input serves as no target, nor does what another stage has made of the samples.
  if (place_.is_first() && input.layout != Layout::tiles) {
    convert_layout(exec, shaped(input, batch.target.shape), batch.target);
    return;
  }
  const Activation target = shaped(batch.target, samples.shape);
  gather_samples(exec, samples, batch.places(samples), {}, target);
  if (rounds_target(samples)) convert_layout(exec, target, input);
}

LossTarget BatchLoader::target_of(const Samples& samples, const LoadedBatch& batch) const {
  LossTarget target{samples.labels, batch.target, {}};
  if (compares_pixels(samples)) target.pixels = samples.images;
  return target;
}

void BatchLoader::restore_units(const ExecSpace& exec, const Samples& samples,
                                const LoadedBatch& batch) const {
  restore(exec, target_normalization_, samples, batch);
}

void BatchLoader::restore_error_units(const ExecSpace& exec, const Samples& samples,
                                      const LoadedBatch& batch) const {
  if (!error_normalization_.is_active()) return restore_units(exec, samples, batch);
  restore(exec, error_normalization_, samples, batch);
  if (place_.is_last() && samples.has_targets())
    denormalize(exec, to_error_unit_, batch.sample_of_row, batch.target);
}

void BatchLoader::restore(const ExecSpace& exec, const Normalization& normalization,
                          const Samples& samples, const LoadedBatch& batch) const {
  if (!place_.is_last() || !normalization.is_active()) return;
  denormalize(exec, normalization, batch.sample_of_row, batch.activations.output());
  if (samples.has_targets())
    gather_values(exec, samples.targets, batch.places(samples), batch.target);
}

double BatchLoader::error_unit() const {
  const std::vector<double>& std = normalize_targets_.std;
  if (normalize_targets_.type != NormalizeType::given || std.empty()) return 1;
  const double largest = *std::ranges::max_element(std);
  constexpr double kRange = 1e6;
  if (largest > 1 / kRange && largest < kRange) return 1;
  return std::exp2(std::floor(std::log2(largest)));
}

}  // namespace quern

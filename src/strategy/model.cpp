// SPDX-License-Identifier: Apache-2.0
#include "strategy/model.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "layers/gather.hpp"
#include "layers/initialize.hpp"
#include "layers/layout.hpp"
#include "parallel/device_stream.hpp"
#include "runtime/host_staged_transport.hpp"
#include "strategy/recipe_kernels.hpp"
#include "strategy/sample_fit.hpp"
#include "strategy/sample_stream.hpp"

namespace quern {

namespace {

Shape output_shape(const NetworkSpec& spec) {
  const Graph graph = build_graph(spec);
  return graph.value(graph.output()).shape;
}

}  // namespace

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

Model::Model(const Recipe& recipe, const StagePlace& place, const TensorSlices& slices)
    : Model(recipe, place, slices, make_loss(recipe.loss, output_shape(recipe.network))) {}

Model::Model(const Recipe& recipe, const StagePlace& place, const TensorSlices& slices,
             std::unique_ptr<Loss> loss)
    : seed_(recipe.seed),
      init_(recipe.network.init),
      target_type_(recipe.data.target),
      place_(place),
      slices_(slices),
      loss_(std::move(loss)),
      networks_(build_stages(recipe, kernels_of(recipe), *loss_, place, slices)),
      has_windows_(recipe.data.augment.is_active() && place.is_first()),
      normalize_(recipe.data.normalize),
      normalize_targets_(recipe.data.normalize_targets) {
  if (network().relu_left_to_loss()) loss_->apply_input_relu();
  check_target(recipe, whole());
}

void Model::allocate(const BatchLimit& most, const StateMemory& memory, int in_flight) {
  max_rows_ = most.rows;
  for (int batch = 0; batch < in_flight; ++batch) in_flight_.push_back(allocate_batch(most));
  if (place_.is_last()) loss_->allocate(most.rows);
  allocate_normalization(most.rows);
  // Kernels read whole vectors: slack after the last tensor.
  constexpr std::int64_t kSlack = 8 * kLanes;
  const std::int64_t size = network().table().block_size();
  parameter_block_ = memory.allocate("quern::strategy::parameters", size + kSlack);
  parameters_ = Kokkos::subview(parameter_block_.view, std::pair(std::int64_t{0}, size));
  initialize_parameters(network().table(), init_, seed_, parameters_);
}

void Model::allocate_normalization(int max_rows) {
  if (normalize_targets_.type == NormalizeType::given) {
    target_normalization_ =
        make_normalization(whole().output_shape(), normalize_targets_.mean, normalize_targets_.std);
  }
  if (normalize_.type != NormalizeType::given) return;
  normalization_ = make_normalization(whole().input_shape(), normalize_.mean, normalize_.std);
  if (!place_.is_first() || network().input_layout() != Layout::tiles) return;
  unrounded_ = allocate_activation("quern::strategy::unrounded_input", whole().input_shape(),
                                   flat_layout(), max_rows);
}

Model::InFlight Model::allocate_batch(const BatchLimit& most) const {
  InFlight batch;
  batch.activations =
      network().allocate(most, in_flight_.empty() ? nullptr : &in_flight(0).activations);
  const auto rows = static_cast<std::size_t>(most.rows);
  batch.sample_of_row = View<std::int64_t>("quern::strategy::sample_of_row", rows);
  batch.place_of_row = View<std::int64_t>("quern::strategy::place_of_row", rows);
  if (has_windows_) batch.window_of_row = View<Window>("quern::strategy::window_of_row", rows);
  if (target_type_ == TargetType::label || !place_.is_last()) return batch;
  if (target_is_input()) {
    batch.target = batch.activations.input();
    batch.target.shape = network().output_shape();
  } else {
    batch.target = allocate_activation("quern::strategy::target", network().output_shape(),
                                       network().output_layout(), most.rows);
  }
  return batch;
}

void Model::connect(const ProcessGrid& grid, DeviceTransport* tensor) {
  expect(grid.place().pipeline == place_.stage && grid.shape().pipeline == place_.stages,
         "the rank of this stage");
  expect(grid.place().tensor == slices_.rank && grid.shape().tensor == slices_.ranks,
         "the rank of these slices");
  layer_transports_ = {nullptr, tensor};
  if (slices_.ranks > 1) {
    if (!tensor) {
      tensor_transport_ = std::make_unique<HostStagedTransport>(grid.tensor());
      tensor = tensor_transport_.get();
    }
    tensor_group_ = std::make_unique<TensorGroup>(*tensor, most_summed(max_rows_));
  }
  if (place_.stages == 1) return;
  exchange_ = std::make_unique<StageExchange>(
      grid, crossing_floats(networks_.stages, place_.stage, max_rows_), layer_transports_);
}

void Model::wait(const ExecSpace& exec) const {
  wait_for(exec, layer_transports_);
}

std::int64_t Model::most_summed(int rows) const {
  std::int64_t most = 0;
  for (const ExchangedFloats& floats : network().exchanged_floats(rows))
    most = std::max(most, floats.summed);
  return most;
}

std::int64_t Model::activation_bytes(const BatchLimit& most, int in_flight) const {
  return network().memory_bytes(most, in_flight) +
         crossing_floats(networks_.stages, place_.stage, most.rows).bytes() +
         (slices_.ranks > 1 ? TensorGroup::bytes(slices_.ranks, most_summed(most.rows)) : 0);
}

bool Model::target_is_input() const {
  return target_type_ == TargetType::input && place_.is_first() &&
         network().input_layout() == network().output_layout();
}

void Model::check_input(const Samples& samples, const std::string& data) const {
  check_input_fits(whole(), traits_of(samples), data);
}

void Model::check_samples(const Samples& samples, const std::string& data) const {
  check_fits(whole(), target_type_, traits_of(samples), data);
}

StepContext Model::context(const BatchPlan& plan, Mode mode, const StepScalarsView& scalars,
                           const GradientSums& gradients, int batch) const {
  StepContext step{mode,        plan.schedule, scalars, in_flight(batch).sample_of_row,
                   parameters_, gradients};
  step.tensor_exchange = tensor_group_.get();
  return step;
}

void Model::load_batch(const ExecSpace& exec, const BatchPlan& plan, const Samples& samples,
                       const Sampling& sampling, const StepScalarsView& scalars, int batch) {
  InFlight& to = in_flight_[static_cast<std::size_t>(batch)];
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
  if (place_.is_first())
    gather_input(exec, samples, windows, to);
  else
    exchange_->receive_x(exec, to.activations.input());
  if (place_.is_last()) gather_target(exec, samples, to);
}

namespace {

/// The same units under the shape of another array.
Activation shaped(Activation array, const Shape& shape) {
  array.shape = shape;
  return array;
}

}  // namespace

void Model::gather_samples(const ExecSpace& exec, const Samples& samples,
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

bool Model::compares_pixels(const Samples& samples) const {
  return target_type_ == TargetType::input && place_.is_last() && !target_is_input() &&
         samples.has_images() && !normalization_.is_active() && loss_->compares_pixels() &&
         network().output_layout() == Layout::cn16c;
}

// From a target in cn16c it is quicker to round it than to gather the samples again.
bool Model::rounds_target(const Samples& samples) const {
  return target_type_ == TargetType::input && place_.is_first() && place_.is_last() &&
         network().input_layout() == Layout::tiles && network().output_layout() == Layout::cn16c &&
         !compares_pixels(samples);
}

void Model::gather_input(const ExecSpace& exec, const Samples& samples,
                         const View<const Window>& windows, const InFlight& batch) const {
  if (!rounds_target(samples))
    gather_samples(exec, samples, places(samples, batch), windows, batch.activations.input());
}

void Model::gather_target(const ExecSpace& exec, const Samples& samples,
                          const InFlight& batch) const {
  if (target_type_ == TargetType::values) {
    // Samples that are only to be predicted come without.
    if (!samples.has_targets()) return;
    const View<const std::int64_t> place_of_row = places(samples, batch);
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
  gather_samples(exec, samples, places(samples, batch), {}, target);
  if (rounds_target(samples)) convert_layout(exec, target, input);
}

std::string Model::first_non_finite_layer(const ExecSpace& exec, const StepContext& step,
                                          const std::function<void()>& wait) const {
  const Activations& activations = in_flight(0).activations;
  std::string name = network().first_non_finite_layer(exec, step, activations, wait);
  if (!place_.is_last()) exchange_->send_y(exec, activations.output());
  return name;
}

void Model::forward(const ExecSpace& exec, const StepContext& step, int batch) const {
  const Activations& activations = in_flight(batch).activations;
  network().forward(exec, step, activations);
  if (!place_.is_last()) exchange_->send_y(exec, activations.output());
}

void Model::compute_loss(const ExecSpace& exec, const StepContext& step, const Samples& samples,
                         const GradientSums& sums, std::int64_t offset, int batch) const {
  if (!place_.is_last()) return;
  const Activations& activations = in_flight(batch).activations;
  const Activation d_output = step.mode == Mode::train ? activations.d_output() : Activation{};
  LossTarget target{samples.labels, in_flight(batch).target, {}};
  if (compares_pixels(samples)) target.pixels = samples.images;
  loss_->compute(exec, {step.schedule, step.scalars, places(samples, in_flight(batch))},
                 activations.output(), target, d_output, sums, offset);
}

void Model::restore_units(const ExecSpace& exec, const Samples& samples, int batch) const {
  if (!place_.is_last() || !target_normalization_.is_active()) return;
  const InFlight& here = in_flight(batch);
  denormalize(exec, target_normalization_, here.sample_of_row, here.activations.output());
  if (samples.has_targets())
    gather_values(exec, samples.targets, places(samples, here), here.target);
}

void Model::backward(const ExecSpace& exec, const StepContext& step,
                     const std::function<void(std::int64_t)>& complete_from, int batch) const {
  const Activations& activations = in_flight(batch).activations;
  const auto stage = static_cast<std::size_t>(place_.stage);
  if (!place_.is_last() && networks_.stages[stage + 1].wants_gradient)
    exchange_->receive_dy(exec, activations.d_output());
  network().backward(exec, step, activations, complete_from);
  if (!place_.is_first() && networks_.stages[stage].wants_gradient)
    exchange_->send_dx(exec, activations.d_input());
}

}  // namespace quern

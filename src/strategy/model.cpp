// SPDX-License-Identifier: Apache-2.0
#include "strategy/model.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/ceil_div.hpp"
#include "layers/initialize.hpp"
#include "parallel/device_stream.hpp"
#include "runtime/host_staged_transport.hpp"
#include "strategy/recipe_kernels.hpp"
#include "strategy/sample_fit.hpp"
#include "tensor/operand_tiles.hpp"

namespace quern {

namespace {

Shape output_shape(const NetworkSpec& spec) {
  const Graph graph = build_graph(spec);
  return graph.value(graph.output()).shape;
}

}  // namespace

Model::Model(const Recipe& recipe, const StagePlace& place, const TensorSlices& slices)
    : Model(recipe, place, slices, make_loss(recipe.loss, output_shape(recipe.network))) {}

Model::Model(const Recipe& recipe, const StagePlace& place, const TensorSlices& slices,
             std::unique_ptr<Loss> loss)
    : seed_(recipe.seed),
      init_(recipe.network.init),
      place_(place),
      slices_(slices),
      loss_(std::move(loss)),
      networks_(build_stages(recipe, kernels_of(recipe), *loss_, place, slices)),
      loader_(recipe, place, network(), whole(), *loss_) {
  if (network().relu_left_to_loss()) loss_->apply_input_relu();
  if (compares_targets() && recipe.loss.type != LossType::mse)
    squared_error_ = make_loss({.type = LossType::mse}, whole().output_shape());
}

void Model::allocate(const BatchLimit& most, const StateMemory& memory, int in_flight) {
  max_rows_ = most.rows;
  loader_.allocate(most.rows);
  for (int batch = 0; batch < in_flight; ++batch) {
    in_flight_.push_back(
        loader_.allocate_batch(most, batch > 0 ? &in_flight_.front().activations : nullptr));
  }
  if (place_.is_last()) {
    loss_->allocate(most.rows);
    if (squared_error_) squared_error_->allocate(most.rows);
  }
  // Kernels read whole vectors: slack after the last tensor.
  constexpr std::int64_t kSlack = 8 * kLanes;
  const std::int64_t size = network().table().block_size();
  parameter_block_ = memory.allocate("quern::strategy::parameters", size + kSlack);
  parameters_ = Kokkos::subview(parameter_block_.view, std::pair(std::int64_t{0}, size));
  initialize_parameters(network().table(), init_, seed_, parameters_);
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

void Model::check_input(const Samples& samples, const std::string& data) const {
  check_input_fits(whole(), traits_of(samples), data);
}

void Model::check_samples(const Samples& samples, const std::string& data) const {
  check_fits(whole(), loader_.target(), traits_of(samples), data);
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
  LoadedBatch& to = in_flight_[static_cast<std::size_t>(batch)];
  loader_.load(exec, plan, samples, sampling, scalars, to);
  if (!place_.is_first()) exchange_->receive_x(exec, to.activations.input());
}

std::string Model::first_non_finite_layer(const ExecSpace& exec, const StepContext& step,
                                          const std::function<void()>& wait) const {
  const Activations& activations = in_flight(0).activations;
  std::string name = network().first_non_finite_layer(exec, step, activations, wait);
  if (!place_.is_last()) exchange_->send_y(exec, activations.output());
  return name;
}

// Row values and the gradient of the output are those of one batch: no other may be in flight. And
// few threads may wait for the last tiles.
bool Model::loss_reads_tiles(const ExecSpace& exec, const StepContext& step) const {
  if (step.mode != Mode::train || !place_.is_last() || !network().hands_over_output()) return false;
  const Activation& d_output = in_flight(0).activations.d_output();
  if (in_flight_.size() > 1 || d_output.empty()) return false;
  const int tiles = OperandTiles(d_output).num_tiles();
  const int threads = exec.concurrency();
  return 4 * round_up(tiles, threads) <= 5 * tiles;
}

LossContext Model::loss_context(const StepContext& step, const Samples& samples, int batch) const {
  return {step.schedule, step.scalars, in_flight(batch).places(samples)};
}

void Model::forward(const ExecSpace& exec, const StepContext& step, const Samples& samples,
                    int batch) const {
  const Activations& activations = in_flight(batch).activations;
  StepContext own = step;
  if (loss_reads_tiles(exec, step)) {
    own.output_reader =
        &loss_->begin_reading(loss_context(step, samples, batch),
                              loader_.target_of(samples, in_flight(batch)), activations.d_output());
  }
  network().forward(exec, own, activations);
  if (!place_.is_last()) exchange_->send_y(exec, activations.output());
}

void Model::compute_loss(const ExecSpace& exec, const StepContext& step, const Samples& samples,
                         const GradientSums& sums, std::int64_t offset, int batch) const {
  if (!place_.is_last()) return;
  const LossContext context = loss_context(step, samples, batch);
  if (loss_reads_tiles(exec, step)) {
    loss_->add_rows(exec, context, sums, offset);
    return;
  }
  const Activations& activations = in_flight(batch).activations;
  const Activation d_output = step.mode == Mode::train ? activations.d_output() : Activation{};
  loss_->compute(exec, context, activations.output(), loader_.target_of(samples, in_flight(batch)),
                 d_output, sums, offset);
}

void Model::restore_units(const ExecSpace& exec, const Samples& samples, int batch) const {
  if (place_.is_last()) loss_->put_predictions(exec, activations(batch).output());
  loader_.restore_units(exec, samples, in_flight(batch));
}

void Model::restore_error_units(const ExecSpace& exec, const Samples& samples) const {
  if (!place_.is_last()) return;
  loss_->put_predictions(exec, activations().output());
  loader_.restore_error_units(exec, samples, in_flight(0));
}

void Model::compute_squared_error(const ExecSpace& exec, const StepContext& step,
                                  const Samples& samples, const GradientSums& sums,
                                  std::int64_t offset) const {
  if (!place_.is_last()) return;
  const Loss& loss = squared_error_ ? *squared_error_ : *loss_;
  loss.compute(exec, loss_context(step, samples, 0), activations().output(),
               loader_.target_of(samples, in_flight(0)), {}, sums, offset);
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

std::string tensors_text(const Network& network) {
  std::string text;
  for (const ParameterEntry& entry : network.table().entries()) {
    text += entry.name + " [";
    for (std::size_t axis = 0; axis < entry.shape.size(); ++axis)
      text += (axis > 0 ? ", " : "") + std::to_string(entry.shape[axis]);
    text += "]\n";
  }
  return text + "output " + to_string(network.output_shape());
}

}  // namespace quern

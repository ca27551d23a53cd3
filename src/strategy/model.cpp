// SPDX-License-Identifier: Apache-2.0
#include "strategy/model.hpp"

#include <utility>

#include "base/error.hpp"
#include "device/tensor_cores.hpp"
#include "layers/gather.hpp"
#include "layers/initialize.hpp"
#include "layers/layout.hpp"
#include "linalg/products_choice.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

/// What products round their operands to. tf32 needs tensor cores, bf16 those or a CPU: elsewhere
/// such a run is evaluated in fp32. Device kernels on a CPU round for tests.
OperandPrecision operand_precision(Precision precision) {
  const bool rounds = kTensorCores || (kHostExecution && runs_device_kernels());
  if (precision == Precision::bf16 && (rounds || kHostExecution)) return OperandPrecision::bf16;
  return precision == Precision::tf32 && rounds ? OperandPrecision::tf32 : OperandPrecision::fp32;
}

Network make_network(const Recipe& recipe, const Loss& loss, Graph graph) {
  NetworkSetup setup;
  const bool any_order = recipe.train.determinism == Determinism::fast;
  setup.products = choose_products(graph.precision(), any_order);
  setup.output_layout = loss.input_layout(graph.value(graph.output()).layout);
  setup.loss_applies_relu = loss.applies_input_relu();
  return {std::move(graph), setup};
}

}  // namespace

void check_target(const Recipe& recipe, const Network& network) {
  if (recipe.data.target != TargetType::input ||
      network.output_shape().units() == network.input_shape().units()) {
    return;
  }
  throw InputError("data.target = \"input\": the network puts out " +
                   to_string(network.output_shape()) + ", expected as many values as its input " +
                   to_string(network.input_shape()) + " has");
}

Model::Model(const Recipe& recipe)
    : Model(recipe, build_graph(recipe.network, operand_precision(recipe.train.precision))) {}

Model::Model(const Recipe& recipe, Graph graph)
    : seed_(recipe.seed),
      init_(recipe.network.init),
      target_type_(recipe.data.target),
      loss_(make_loss(recipe.loss, graph.value(graph.output()).shape)),
      network_(make_network(recipe, *loss_, std::move(graph))),
      has_windows_(recipe.data.augment.is_active()) {
  if (network_.relu_left_to_loss()) loss_->apply_input_relu();
  check_target(recipe, network_);
}

void Model::allocate(int max_rows, const AllocateBlock& allocate_block) {
  activations_ = network_.allocate(max_rows);
  loss_->allocate(max_rows);
  // Kernels read whole vectors: slack after the last tensor.
  constexpr std::int64_t kSlack = 8 * kLanes;
  const auto size = static_cast<std::size_t>(network_.table().block_size());
  const std::string label = "quern::strategy::parameters";
  parameter_block_ = allocate_block
                         ? allocate_block(label, static_cast<std::int64_t>(size) + kSlack)
                         : SharedBlock{FloatView(label, size + kSlack), nullptr};
  parameters_ = Kokkos::subview(parameter_block_.view, std::pair(std::size_t{0}, size));
  initialize_parameters(network_.table(), init_, seed_, parameters_);
  sample_of_row_ =
      View<std::int64_t>("quern::strategy::sample_of_row", static_cast<std::size_t>(max_rows));
  if (has_windows_)
    window_of_row_ =
        View<Window>("quern::strategy::window_of_row", static_cast<std::size_t>(max_rows));
  if (target_type_ == TargetType::label) return;
  if (target_is_input()) {
    target_ = activations_.input();
    target_.shape = network_.output_shape();
  } else {
    target_ = allocate_activation("quern::strategy::target", network_.output_shape(),
                                  network_.output_layout(), max_rows);
  }
}

bool Model::target_is_input() const {
  return target_type_ == TargetType::input && network_.input_layout() == network_.output_layout();
}

void Model::check_samples(const Samples& samples) const {
  if (!(samples.shape == network_.input_shape())) {
    throw InputError("network.input is " + to_string(network_.input_shape()) +
                     ", but a sample of the data is " + to_string(samples.shape));
  }
  if (samples.images.extent(0) + samples.values.extent(0) == 0) {
    throw InputError("the samples hold neither images nor values");
  }
  if (target_type_ == TargetType::values &&
      samples.targets.extent(0) !=
          static_cast<std::size_t>(samples.count * network_.output_shape().units())) {
    throw InputError("the network puts out " + to_string(network_.output_shape()) + ", but " +
                     std::to_string(samples.count) + " samples come with " +
                     std::to_string(samples.targets.extent(0)) +
                     " target values (expected one per output and sample)");
  }
  if (target_type_ == TargetType::label && samples.classes > network_.output_shape().units()) {
    throw InputError("the network puts out " + to_string(network_.output_shape()) +
                     ", but the data has " + std::to_string(samples.classes) +
                     " classes (expected at least one output per class)");
  }
}

StepContext Model::context(const BatchPlan& plan, Mode mode, const StepScalarsView& scalars,
                           const GradientSums& gradients) const {
  return {mode, plan.schedule, scalars, sample_of_row_, parameters_, gradients};
}

void Model::load_batch(const ExecSpace& exec, const BatchPlan& plan, const Samples& samples,
                       const Sampling& sampling, const StepScalarsView& scalars) {
  activations_.set_rows(plan.rows(), plan.schedule.block_rows);
  target_.rows = plan.rows();
  assign_rows(exec, plan, samples.count, sampling.shuffle, scalars, sample_of_row_);
  View<const Window> windows;
  if (sampling.augment.is_active()) {
    draw_windows(exec, sampling.augment, scalars, sample_of_row_, plan.rows(), window_of_row_);
    windows = window_of_row_;
  }
  const Activation& input = activations_.input();
  const auto gather_samples = [&](const Activation& y) {
    if (samples.images.extent(0) > 0)
      gather_images(exec, samples.images, sample_of_row_, y, windows);
    else
      gather_values(exec, samples.values, sample_of_row_, y, windows);
  };
  if (target_type_ == TargetType::input && input.layout == Layout::tiles) {
    // A rounded input serves as no target. From cn16c it is quicker to round the target.
    Activation target = target_;
    target.shape = input.shape;  // the same units, perhaps under another shape
    gather_samples(target);
    if (target.layout == Layout::cn16c)
      convert_layout(exec, target, input);
    else
      gather_samples(input);
    return;
  }
  gather_samples(input);
  if (target_type_ == TargetType::values) {
    gather_values(exec, samples.targets, sample_of_row_, target_);
  } else if (target_type_ == TargetType::input && !target_is_input()) {
    Activation from = input;
    from.shape = target_.shape;
    convert_layout(exec, from, target_);
  }
}

void Model::compute_loss(const ExecSpace& exec, const StepContext& step, const Samples& samples,
                         const GradientSums& sums, std::int64_t offset) const {
  const Activation d_output = step.mode == Mode::train ? activations_.d_output() : Activation{};
  loss_->compute(exec, {step.schedule, step.scalars, step.sample_of_row}, activations_.output(),
                 {samples.labels, target_}, d_output, sums, offset);
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "golden/golden_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "config/read_recipe.hpp"
#include "parallel/rank_sums.hpp"
#include "parallel/tree_reducer.hpp"
#include "readers/idx_reader.hpp"
#include "strategy/step_kernels.hpp"
#include "support/views.hpp"

namespace quern::test {

namespace {

std::filesystem::path fashion_mnist() {
  const char* stated = std::getenv("QUERN_FASHION_MNIST");
  const std::filesystem::path folder = stated ? stated : QUERN_FASHION_MNIST;
  if (!std::filesystem::exists(folder / "train-images-idx3-ubyte.gz")) {
    throw InputError("'" + folder.string() +
                     "' holds no train-images-idx3-ubyte.gz: install Debian's package "
                     "dataset-fashion-mnist, or set QUERN_FASHION_MNIST to the folder");
  }
  return folder;
}

// The images in the order in which PyTorch took them: one epoch of whole batches.
Samples ordered_images(const std::vector<std::int64_t>& order) {
  const std::filesystem::path folder = fashion_mnist();
  const IdxImages images = read_idx_images(folder / "train-images-idx3-ubyte.gz");
  const IdxLabels labels = read_idx_labels(folder / "train-labels-idx1-ubyte.gz");
  const std::ptrdiff_t units = images.shape.units();
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> classes;
  for (const std::int64_t sample : order) {
    const auto first = images.pixels.begin() + sample * units;
    pixels.insert(pixels.end(), first, first + units);
    classes.push_back(labels.labels.at(static_cast<std::size_t>(sample)));
  }
  Samples samples;
  samples.count = static_cast<std::int64_t>(order.size());
  samples.shape = images.shape;
  samples.classes = 10;
  samples.images = to_view(pixels);
  samples.labels = to_view(classes);
  return samples;
}

// The one batch that the file itself holds.
Samples stored_batch(const Golden& golden, const Shape& shape) {
  Samples samples;
  samples.count = golden.batch;
  samples.shape = shape;
  samples.values = to_view(golden.inputs.values);
  if (golden.target_labels.empty()) {
    samples.targets = to_view(golden.target_values.values);
    return samples;
  }
  const std::vector<std::int32_t> labels(golden.target_labels.begin(), golden.target_labels.end());
  samples.labels = to_view(labels);
  samples.classes = 1 + *std::max_element(labels.begin(), labels.end());
  return samples;
}

Recipe recipe_of(const Golden& golden, const std::string& name) {
  Recipe recipe = parse_recipe(golden.recipe, name + ".toml");
  recipe.data.shuffle = false;  // the samples are in PyTorch's order already
  return recipe;
}

}  // namespace

GoldenRun::GoldenRun(Communicator& comm, const std::string& name)
    : comm_(comm),
      golden_(load_golden(name)),
      recipe_(recipe_of(golden_, name)),
      samples_(golden_.order.empty() ? stored_batch(golden_, recipe_.network.input)
                                     : ordered_images(golden_.order)),
      model_(recipe_) {
  model_.check_samples(samples_);
  step_ = std::make_unique<TrainingStep>(recipe_, comm, model_, samples_);
  load_initial_weights();
}

void GoldenRun::load_initial_weights() {
  std::vector<float> block = to_vector(model_.parameters());
  const ParameterTable& table = model_.network().table();
  if (table.entries().size() != golden_.initial.size()) throw Error("tensors of another number");
  for (const ParameterEntry& entry : table.entries()) {
    const GoldenTensor& tensor = golden_.initial.at(entry.name);
    if (tensor.shape != entry.shape) throw Error("'" + entry.name + "' has another shape");
    write_tensor(entry, tensor.values, block);
  }
  Kokkos::deep_copy(model_.parameters(), to_view(block));
}

Tensors GoldenRun::split(const ConstFloatView& block, Buffers buffers) const {
  const std::vector<float> values = to_vector(block);
  Tensors tensors;
  for (const ParameterEntry& entry : model_.network().table().entries()) {
    if (entry.is_buffer() && buffers == Buffers::leave_out) continue;
    tensors[entry.name] = read_tensor(entry, values);
  }
  return tensors;
}

GoldenRun::FirstStep GoldenRun::first_step() {
  const ExecSpace exec;
  const auto batch = static_cast<int>(golden_.batch);
  const BatchCut cut =
      training_batches(recipe_, comm_.size(), batch).cut(model_.network().row_multiple());
  const BatchPlan plan = make_batch_plan(cut, batch, comm_.rank(), comm_.size());
  const std::int64_t sums = model_.network().table().block_size();
  TreeReducer reducer(comm_, sums + Loss::kColumns);
  const ReductionPlan reduction = reducer.add_plan(plan.partition);
  reducer.allocate();
  const GradientSums& gradients = reducer.partial_sums();
  const StepScalarsView scalars("test::scalars");
  set_position(scalars, recipe_.seed, {});

  begin_batch(exec, scalars, batch);
  model_.load_batch(exec, plan, samples_, {}, scalars);
  StepContext step = model_.context(plan, Mode::train, scalars, gradients);
  std::vector<std::int64_t> counts;
  for (const Layer* layer : model_.network().layers())
    for (const std::int64_t count : layer->batch_sums()) counts.push_back(count);
  RankSums batch_sums(comm_, nullptr, counts, SumOrder::tree);
  const ReductionPlan sums_plan = batch_sums.add_plan(plan.partition);
  batch_sums.allocate();
  batch_sums.begin_batch(sums_plan);
  step.batch_sums = &batch_sums;
  model_.network().forward(exec, step, model_.activations());
  // Before the loss, which may write their gradient where they lie.
  const std::vector<float> outputs = values_of(model_.activations().output());
  model_.network().store_statistics(exec, step, model_.activations());
  model_.compute_loss(exec, step, samples_, gradients, sums);
  model_.network().backward(exec, step, model_.activations());
  const ConstFloatView total = reducer.reduce(exec, reduction).total;

  FirstStep result;
  const int units = model_.network().output_shape().units();
  for (int i = 0; i < plan.num_samples; ++i) {
    const int row = i / cut.block_samples * plan.schedule.block_rows + i % cut.block_samples;
    result.outputs[plan.first_sample + i] = sample_of(outputs, units, row);
  }
  result.gradients = split(total, Buffers::leave_out);
  for (const auto& [name, values] : result.gradients) {
    for (const float value : values) result.gradient_norm += double{value} * value;
  }
  result.gradient_norm = std::sqrt(result.gradient_norm);
  result.loss = to_vector(total).at(static_cast<std::size_t>(sums + Loss::kLoss)) /
                static_cast<double>(batch);
  return result;
}

double GoldenRun::train_step() {
  // Images: one long epoch. A batch that is always the same: an epoch per step.
  const bool is_one_batch = golden_.order.empty();
  if (is_one_batch) step_->set_position({.step = steps_done_, .epoch = steps_done_});
  ++steps_done_;
  return step_->run(ExecSpace(), false).loss / static_cast<double>(golden_.batch);
}

Tensors GoldenRun::weights() const {
  return split(model_.parameters(), Buffers::take);
}

}  // namespace quern::test

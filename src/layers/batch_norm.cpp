// SPDX-License-Identifier: Apache-2.0
#include "layers/batch_norm.hpp"

#include "base/assert.hpp"
#include "layers/batch_norm_sets.hpp"
#include "linalg/block_sum.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

const BatchNormKernels& batch_norm_kernels() {
  return choose_kernels<const BatchNormKernels&()>(
      {.host = host_set<host::batch_norm_kernels>(), .device = device::batch_norm_kernels})();
}

namespace {

// The sums that are taken over the global batch, in floats.
std::int64_t statistics_floats(std::int64_t padded) {
  return BlockStatistics::floats(padded);
}
std::int64_t distances_floats(std::int64_t padded) {
  return padded;
}
std::int64_t gradients_floats(std::int64_t padded) {
  return 2 * padded;
}

bool is_rounded(const Activation& array) {
  return array.layout == Layout::nchw16n_bf16;
}

}  // namespace

/// Arrays of one call.
struct BatchNorm::Memory {
  NormBatch batch;
  float* sets;        // own: NormSets of the last forward pass
  float* shares;      // own, with statistics of blocks: the shares of each in the batch's
  float* statistics;  // a row for each block; backward: the blocks' gradients
  float* rest;        // another row for each block
  OwnSums own_sums;
};

BatchNorm::BatchNorm(const LayerSpec& spec, const Shape& input, const KernelChoice& choice)
    : Layer(spec.name, input, input),
      kernels_(batch_norm_kernels()),
      channels_(input.channels),
      pixels_(input.height * input.width),
      can_round_(kernels_.rounds && pixels_ > 1),  // in nchw16n for certain
      rounds_(can_round_ && choice.multiplies_tiles()),
      padded_(round_up_to_lanes(input.channels)),
      eps_(static_cast<float>(spec.eps)),
      momentum_(static_cast<float>(spec.momentum)),
      statistics_(spec.statistics),
      training_(training_of(spec)) {}

Layout BatchNorm::input_layout(Layout incoming) const {
  return pixels_ > 1 || incoming == Layout::nchw16n ? Layout::nchw16n : flat_layout();
}

LayerTraits BatchNorm::traits() const {
  LayerTraits traits;
  traits.overwrites_gradient = true;
  traits.applies_relu = true;
  traits.applies_relu_backward = true;
  traits.applies_add = true;
  traits.reads_rounded_input = traits.reads_rounded_gradient = rounds_;
  traits.writes_rounded_output = traits.writes_rounded_gradient = can_round_;
  // Values of each channel, as PyTorch asks for.
  traits.least_samples = pixels_ > 1 || takes_running() ? 1 : 2;
  traits.in_each_block = is_per_block();
  return traits;
}

void BatchNorm::add_parameters(ParameterTable& table) {
  weight_ = table.add(name() + ".weight", {channels_}, 1, ParameterKind::scale, training_);
  const std::int64_t shift =
      table.add(name() + ".bias", {channels_}, 1, ParameterKind::shift, training_);
  const float momentum = takes_running() ? 0 : momentum_;
  buffers_ = table.add_buffer(name() + ".running_mean", {channels_}, {0, momentum});
  const std::int64_t variance =
      table.add_buffer(name() + ".running_var", {channels_}, {1, momentum});
  expect(shift == weight_ + padded_ && variance == buffers_ + padded_, "neighbours in the block");
  first_buffer_ = table.trained_size();
  if (training_ == Training::frozen) frozen_ = table.reduced_size();
}

void BatchNorm::set_up(const LayerSetup& setup) {
  with_relu_ = setup.with_relu;
  with_add_ = setup.with_add;
  with_relu_of_sum_ = setup.with_relu_of_sum;
  if (setup.first_buffer >= 0) first_buffer_ = setup.first_buffer;
  if (training_ == Training::frozen && setup.first_frozen >= 0) frozen_ = setup.first_frozen;
}

std::int64_t BatchNorm::own_floats(const BatchLimit& most) const {
  const std::int64_t sets = NormSets::floats(padded_);
  return is_per_block() ? most.blocks() * (sets + 2 * padded_) : sets;
}

// Two rows for each block, and sums of one rank alone.
std::int64_t BatchNorm::workspace_floats(const BatchLimit& most) const {
  return 2 * statistics_floats(padded_) * std::max(1, most.blocks()) +
         OwnSums::memory_floats(statistics_floats(padded_));
}

std::vector<std::int64_t> BatchNorm::batch_sums() const {
  if (is_per_block() || takes_running()) return {};
  return {statistics_floats(padded_), distances_floats(padded_), gradients_floats(padded_)};
}

BatchNorm::Memory BatchNorm::memory_of(const StepContext& step, const LayerArrays& arrays) const {
  const std::int64_t row = statistics_floats(padded_);
  const std::int64_t own_sums = OwnSums::memory_floats(row);
  const std::int64_t rows = std::max(1, step.schedule.num_blocks) * row;
  const Activation& x = arrays.x;
  const ActivationIndex at(x);
  expect(at.layout == ActivationIndex(arrays.y).layout && x.rows == arrays.y.rows,
         "an output shaped like the input");
  expect(rounds_ || !(is_rounded(x) || is_rounded(arrays.dy)), "kernels that read bfloat16");
  expect(static_cast<std::int64_t>(arrays.workspace.extent(0)) >= own_sums + 2 * rows,
         "workspace_floats()");
  float* memory = arrays.workspace.data() + own_sums;
  const int block_rows = std::max(1, step.schedule.block_rows);
  return {{at, channels_, pixels_, x.rows, block_rows, step.sample_of_row.data(), rounds_,
           is_rounded(x), is_rounded(arrays.dy)},
          arrays.own.data(),
          is_per_block() ? arrays.own.data() + step.schedule.num_blocks * NormSets::floats(padded_)
                         : nullptr,
          memory,
          memory + rows,
          OwnSums(step.schedule,
                  Kokkos::subview(arrays.workspace, std::pair(std::int64_t{0}, own_sums)))};
}

NormFunction BatchNorm::function(const StepContext& step, const Memory& memory,
                                 const LayerArrays& arrays) const {
  const bool one_a_block = step.mode == Mode::train && is_per_block();
  const float* scale = step.parameters.data() + frozen_ + weight_;
  return {{memory.sets, one_a_block ? NormSets::floats(padded_) : 0, padded_},
          scale,
          scale + padded_,
          with_relu_,
          arrays.addend.data.data(),
          with_relu_of_sum_,
          is_rounded(arrays.y)};
}

void BatchNorm::forward(const ExecSpace& exec, const StepContext& step,
                        const LayerArrays& arrays) const {
  Memory memory = memory_of(step, arrays);
  const float* x = arrays.x.data.data();
  if (step.mode == Mode::evaluate || (takes_running() && !step.is_again)) {
    const float* running = step.parameters.data() + first_buffer_ + buffers_;
    set_running_statistics(exec, running, {channels_, padded_, eps_}, memory.sets);
  } else if (!step.is_again) {
    kernels_.block_statistics(exec, memory.batch, x, memory.statistics);
    if (is_per_block())
      take_block_statistics(exec, step, memory);
    else
      take_global_statistics(exec, step, memory);
  }
  expect(arrays.addend.empty() != with_add_, "what is to be added, and nothing else");
  kernels_.normalize(exec, memory.batch, function(step, memory, arrays), x, arrays.y.data.data());
}

void BatchNorm::take_global_statistics(const ExecSpace& exec, const StepContext& step,
                                       Memory& memory) const {
  BatchSums& sums = step.batch_sums ? *step.batch_sums : memory.own_sums;
  const NormChannels channels{channels_, padded_, eps_};
  const int num_blocks = step.schedule.num_blocks;
  const std::int64_t floats = statistics_floats(padded_);
  add_block_rows(exec, "quern::layers::batch_norm_sums", step.schedule, memory.statistics, floats,
                 sums.partial_sums(floats), 0);
  const ConstFloatView totals = sums.add(exec, floats);
  set_means(exec, totals.data(), memory.batch, num_blocks, channels, memory.statistics,
            {memory.sets, memory.rest});
  const std::int64_t distances = distances_floats(padded_);
  add_block_rows(exec, "quern::layers::batch_norm_sums", step.schedule, memory.rest, distances,
                 sums.partial_sums(distances), 0);
  const ConstFloatView spread = sums.add(exec, distances);
  const BufferPlace place{step.gradients, first_buffer_ + buffers_, step.schedule.num_partial_sums,
                          sums.owns_first_block()};
  set_variances(exec, spread.data(), memory.batch, channels, memory.sets, place);
}

void BatchNorm::take_block_statistics(const ExecSpace& exec, const StepContext& step,
                                      Memory& memory) const {
  set_blocks(exec, memory.statistics, memory.batch, step.schedule.num_blocks,
             {channels_, padded_, eps_}, step.scalars, {memory.sets, memory.shares});
}

void BatchNorm::store_statistics(const ExecSpace& exec, const StepContext& step,
                                 const LayerArrays& arrays) const {
  // Of the global batch forward has done it: no other batch is in flight.
  if (!is_per_block()) return;
  add_block_rows(exec, "quern::layers::batch_norm_sums", step.schedule,
                 memory_of(step, arrays).shares, 2 * padded_, step.gradients,
                 first_buffer_ + buffers_);
}

void BatchNorm::backward(const ExecSpace& exec, const StepContext& step,
                         const LayerArrays& arrays) const {
  Memory memory = memory_of(step, arrays);
  const NormFunction f = function(step, memory, arrays);
  const float* x = arrays.x.data.data();
  const float* dy = arrays.dy.data.data();
  // Constants have no gradient, for which others need these sums.
  if (training_ == Training::trained || !takes_running())
    kernels_.block_gradients(exec, memory.batch, f, x, dy, memory.statistics);
  if (training_ == Training::trained) {
    add_block_rows(exec, "quern::layers::batch_norm_sums", step.schedule, memory.statistics,
                   gradients_floats(padded_), step.gradients, weight_);
  }
  if (arrays.dx.empty()) return;
  NormGradient gradient = input_gradient_sets(exec, step, memory, f.sets);
  gradient.rounds = is_rounded(arrays.dx);
  kernels_.input_gradient(exec, memory.batch, f, gradient, x, dy, arrays.dx.data.data());
}

NormGradient BatchNorm::input_gradient_sets(const ExecSpace& exec, const StepContext& step,
                                            Memory& memory, const NormSets& sets) const {
  const std::int64_t floats = gradients_floats(padded_);
  if (is_per_block()) {
    set_gradients(exec, memory.statistics, step.schedule.num_blocks, memory.batch, sets,
                  memory.rest);
    return {memory.rest, floats, padded_};
  }
  if (takes_running()) {
    set_no_gradients(exec, padded_, memory.rest);
    return {memory.rest, 0, padded_};
  }
  BatchSums& sums = step.batch_sums ? *step.batch_sums : memory.own_sums;
  add_block_rows(exec, "quern::layers::batch_norm_sums", step.schedule, memory.statistics, floats,
                 sums.partial_sums(floats), 0);
  const ConstFloatView totals = sums.add(exec, floats);
  set_gradients(exec, totals.data(), 1, memory.batch, sets, memory.rest);
  return {memory.rest, 0, padded_};
}

}  // namespace quern

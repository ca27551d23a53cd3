// SPDX-License-Identifier: Apache-2.0
#include "train/run_warnings.hpp"

#include <algorithm>
#include <bit>

#include "base/count_text.hpp"
#include "linalg/host/bf16_tiles.hpp"
#include "optim/schedule.hpp"
#include "parallel/batch_partition.hpp"
#include "strategy/recipe_kernels.hpp"

namespace quern {

namespace {

// Each says "" where there is nothing to say.

std::string large_batch(const BatchRule& batches) {
  if (batches.num_samples == 0 || batches.global_batch == batches.full_batch) return "";
  return "the global batch is " + std::to_string(batches.global_batch) + ", but the data have " +
         count_text(batches.num_samples, "sample") + ": every step takes all of them";
}

std::string long_warmup(const Recipe& recipe, const BatchRule& batches) {
  const ScheduleSpec& schedule = recipe.optimizer.schedule;
  const bool in_epochs = schedule.warmup_epochs > 0;
  if (!in_epochs && batches.num_samples == 0) return "";
  const std::int64_t steps = recipe.train.epochs * batches.steps_per_epoch();
  if (in_epochs ? schedule.warmup_epochs <= recipe.train.epochs : schedule.warmup_steps <= steps)
    return "";
  return "the run has " +
         (in_epochs ? count_text(recipe.train.epochs, "epoch") : std::to_string(steps) + " steps") +
         ", but optimizer.schedule." +
         (in_epochs ? "warmup_epochs = " + std::to_string(schedule.warmup_epochs)
                    : "warmup_steps = " + std::to_string(schedule.warmup_steps)) +
         ": the learning rate never reaches optimizer.lr";
}

// Drops that do not happen.
std::string late_milestones(const Recipe& recipe) {
  const ScheduleSpec& schedule = recipe.optimizer.schedule;
  if (schedule.type != ScheduleType::multi_step || schedule.milestones.back() < recipe.train.epochs)
    return "";
  return "the run has " + count_text(recipe.train.epochs, "epoch") +
         ", but optimizer.schedule.milestones names epoch " +
         std::to_string(schedule.milestones.back()) + ": that drop has no effect";
}

std::string idle_ranks(const BatchRule& batches, int num_ranks) {
  const BatchPartition batch(batches.full_batch, batches.block_samples, num_ranks);
  int idle = 0;
  for (int rank = 0; rank < num_ranks; ++rank) idle += batch.num_blocks(rank) == 0;
  if (idle == 0) return "";
  return std::to_string(idle) + " of " + std::to_string(num_ranks) +
         " ranks have nothing to do: a batch of " + std::to_string(batch.samples()) +
         " samples has " + count_text(batch.num_blocks(), "micro-block") + " of " +
         std::to_string(batch.block_size()) +
         " (take fewer ranks, or set a smaller train.micro_block)";
}

std::string many_slices(const Recipe& recipe, int num_ranks) {
  constexpr int kMany = 512;
  if (!recipe.parallel.shard_optimizer || num_ranks < kMany ||
      recipe.train.determinism == Determinism::fast)
    return "";
  return "with parallel.shard_optimizer each of " + std::to_string(num_ranks) +
         " ranks sends a message to every other one, twice a step: without it they send about " +
         std::to_string(2 * std::bit_width(static_cast<unsigned>(num_ranks - 1))) +
         " (quern plan tells what both take)";
}

// By the layers alone: how many channels come in is not looked at.
std::string no_winograd(const Recipe& recipe) {
  if (recipe.train.convolution != Convolution::winograd) return "";
  const auto suits = [](const LayerSpec& layer) {
    return layer.type == LayerType::conv2d && layer.kernel == 3 && layer.stride == 1 &&
           layer.channels >= 16;
  };
  if (std::ranges::any_of(recipe.network.layers, suits)) return "";
  return "train.convolution = \"winograd\" changes nothing: no layer is a conv2d with kernel = 3, "
         "stride = 1 and at least 16 channels";
}

// They begin as 0 and 1, and stay so.
std::string unknown_statistics(const Recipe& recipe) {
  const InitSpec& init = recipe.network.init;
  const auto is_in_file = [&](const std::string& name) {
    return init.type == InitType::checkpoint &&
           (init.only.empty() || std::ranges::any_of(init.only, [&](const std::string& part) {
              return name.starts_with(part);
            }));
  };
  for (const LayerSpec& layer : recipe.network.layers)
    if (layer.type == LayerType::batch_norm && layer.statistics == Statistics::running &&
        !is_in_file(layer.name))
      return "layer '" + layer.name +
             "' normalizes with its running statistics, and no file of network.init states them: "
             "they stay 0 and 1";
  return "";
}

std::string targets_left_behind(const Recipe& recipe) {
  if (!recipe.data.augment.is_active() || recipe.data.target != TargetType::values) return "";
  return "data.augment moves or mirrors images and leaves their targets as they are: they must "
         "not say where in the image something is";
}

std::string adam_by_another_name(const Recipe& recipe) {
  const OptimizerSpec& optimizer = recipe.optimizer;
  if (optimizer.type != OptimizerType::adamw || optimizer.weight_decay != 0) return "";
  return "optimizer.type = \"adamw\" with weight_decay 0 is \"adam\" (PyTorch's default of AdamW "
         "is weight_decay 0.01)";
}

// In front of the loss, which has a function of its own for what comes out.
std::string needless_activation(const Recipe& recipe) {
  const LayerType last = recipe.network.layers.back().type;
  const bool is_binary = recipe.loss.type == LossType::binary_cross_entropy;
  if (!is_binary && recipe.loss.type != LossType::cross_entropy) return "";
  const bool is_bounded = last == LayerType::sigmoid || last == LayerType::tanh;
  if (!is_bounded && last != LayerType::relu) return "";
  const char* kept_from = is_bounded ? "outputs between bounds keep probabilities away from 0 and 1"
                          : is_binary ? "without negative outputs no probability is below 0.5"
                                      : "outputs that are 0 get no gradient";
  return std::string("the network ends with a ") + to_string(last) + ", and loss.type = " +
         (is_binary ? "\"binary_cross_entropy\" applies a sigmoid"
                    : "\"cross_entropy\" applies a softmax") +
         " to what it puts out: " + kept_from + " (leave the layer out)";
}

}  // namespace

std::vector<std::string> run_warnings(const Recipe& recipe, const BatchRule& batches,
                                      int data_ranks) {
  std::vector<std::string> all = {large_batch(batches),
                                  long_warmup(recipe, batches),
                                  late_milestones(recipe),
                                  idle_ranks(batches, data_ranks),
                                  many_slices(recipe, data_ranks),
                                  unknown_statistics(recipe),
                                  no_winograd(recipe),
                                  targets_left_behind(recipe),
                                  adam_by_another_name(recipe),
                                  needless_activation(recipe)};
  std::erase(all, "");
  return all;
}

std::string processor_warning(const Recipe& recipe) {
  if constexpr (!kHostExecution) return "";
  const KernelChoice kernels = kernels_of(recipe);
  if (!kernels.multiplies_tiles()) return "";
  const bool by_pairs = kernels.precision == OperandPrecision::bf16_pairs;
  const host::TileUnit& slow = by_pairs ? host::vector_pair_unit() : host::vector_tile_unit();
  if (&host::tile_unit(kernels.precision) != &slow) return "";
  if (by_pairs) {
    return "train.bf16_sums = \"pairs\" without AVX512_BF16 is slower than \"fp32\" (quern info "
           "says why there is none)";
  }
  if (host::avx512_bf16_unit()) {
    return "train.precision = \"bf16\" without AMX is slower than \"fp32\"; train.bf16_sums = "
           "\"pairs\" may be faster here, because this processor has AVX512_BF16";
  }
  return "train.precision = \"bf16\" without AMX is slower than \"fp32\" (quern info says why "
         "there is none)";
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <string>

#include "base/error.hpp"
#include "spec/recipe.hpp"

namespace quern {

namespace {

// Layers of images compute 16 samples side by side, however few of them a micro-block has.
bool computes_images(const NetworkSpec& network) {
  bool is_flat = network.input.is_flat();
  return std::any_of(network.layers.begin(), network.layers.end(), [&](const LayerSpec& layer) {
    switch (layer.type) {
      case LayerType::conv2d:
      case LayerType::max_pool2d:
      case LayerType::avg_pool2d:
      case LayerType::global_avg_pool:
      case LayerType::group_norm:
      case LayerType::upsample:
        return true;
      case LayerType::batch_norm:
      case LayerType::layer_norm:
      case LayerType::concat:
        return !is_flat;
      case LayerType::flatten:
        is_flat = true;
        return false;
      case LayerType::linear:
      case LayerType::relu:
      case LayerType::tanh:
      case LayerType::sigmoid:
      case LayerType::gelu:
      case LayerType::silu:
      case LayerType::leaky_relu:
      case LayerType::dropout:
      case LayerType::add:
      case LayerType::custom:
        break;
    }
    return false;
  });
}

}  // namespace

int micro_block_size(const Recipe& recipe, int global_batch) {
  const TrainSpec& train = recipe.train;
  if (train.micro_block > 0) return std::min(train.micro_block, global_batch);
  // Tiles of bf16 hold 32 samples: half as many blocks, each twice as large, cost half as much.
  const int fewest_blocks = train.precision == Precision::bf16 ? 4 : 8;
  int size = computes_images(recipe.network) ? 16 : 1;
  while (size < 32 && 2 * size <= global_batch / fewest_blocks) size *= 2;
  return std::min(size, global_batch);
}

int tensor_slices(const Recipe& recipe) {
  const ParallelSpec& parallel = recipe.parallel;
  if (parallel.tensor_slices > 0) return parallel.tensor_slices;
  const bool is_fast = recipe.train.determinism == Determinism::fast;
  if (parallel.tensor == 1 && (is_fast || parallel.strategy != SplitStrategy::tensor)) return 0;
  int slices = parallel.tensor;
  if (is_fast) return slices;
  while (slices < 8) slices *= 2;
  return slices;
}

std::string tensor_slices_problem(const Recipe& recipe) {
  const int ranks = recipe.parallel.tensor;
  const int slices = tensor_slices(recipe);
  if (slices == 0 || ranks == 1) return "";
  const std::string count = std::to_string(slices);
  const std::string tensor = "parallel.tensor = " + std::to_string(ranks);
  if (slices % ranks != 0) {
    return count + " cannot be shared by " + tensor + " ranks, expected a multiple of " +
           std::to_string(ranks);
  }
  if (std::has_single_bit(static_cast<unsigned>(slices / ranks))) return "";
  return count + " gives each of " + tensor + " ranks " + std::to_string(slices / ranks) +
         " slices, expected a power of two of them";
}

int Recipe::global_batch(int num_ranks) const {
  const std::int64_t batch = data.global_batch > 0 ? std::int64_t{data.global_batch}
                                                   : std::int64_t{data.batch_per_rank} * num_ranks;
  if (batch > kMaxGlobalBatch) {
    throw InputError("data.batch_per_rank = " + std::to_string(data.batch_per_rank) + " on " +
                     std::to_string(num_ranks) + " ranks makes a global batch of " +
                     std::to_string(batch) + " samples, expected at most " +
                     std::to_string(kMaxGlobalBatch));
  }
  return static_cast<int>(batch);
}

}  // namespace quern

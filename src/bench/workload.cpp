// SPDX-License-Identifier: Apache-2.0
#include "bench/workload.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "base/philox.hpp"
#include "comm/agree.hpp"
#include "device/queue.hpp"
#include "network/network.hpp"
#include "runtime/devices.hpp"
#include "runtime/memory.hpp"
#include "samples/load_samples.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/recipe_kernels.hpp"
#include "train/load_recipe.hpp"

namespace quern {

namespace {

constexpr const char* kName = "the set of synthetic samples";

// Random bytes, 16 of each draw.
void fill_random(std::span<std::uint8_t> bytes, std::uint32_t stream) {
  for (std::size_t begin = 0; begin < bytes.size(); begin += 16) {
    const PhiloxBlock block = random_block(1, RandomUse::samples, stream, begin);
    for (std::size_t i = 0; i < 16 && begin + i < bytes.size(); ++i) {
      bytes[begin + i] = static_cast<std::uint8_t>(block.word[i / 4] >> (i % 4 * 8) & 255u);
    }
  }
}

std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint8_t> bytes(count);
  fill_random(bytes, seed);
  return bytes;
}

// Collective. Data of the recipe's shape without files, in the memory that training takes for data
// from files: one copy for all ranks of a node. As many samples as MNIST has (60000), so that, as
// in training, the next batch is not in a cache; fewer where they would take more than 128 MB, but
// at least two batches. AgreedError (exit 2) when a node lacks the memory.
Samples make_bench_samples(const ProcessGrid& grid, const Recipe& recipe, const Shape& output) {
  Communicator& comm = grid.world();
  constexpr std::int64_t kSamples = 60000;
  constexpr std::int64_t kMaxBytes = std::int64_t{128} << 20;
  const std::int64_t units = recipe.network.input.units();
  const bool values =
      recipe.data.target == TargetType::values || recipe.data.source == DataSource::random;
  const std::int64_t sample_bytes =
      values ? random_sample_bytes(recipe.network.input, recipe.data.target, output.units())
             : units;
  const std::int64_t count = std::max(std::min(kSamples, kMaxBytes / sample_bytes),
                                      2 * std::int64_t{recipe.global_batch(grid.data().size())});
  if (values) {
    return agree(comm, [&] {
      check_memory(count * sample_bytes * comm.node_size(), kName);
      return make_random_samples(recipe.seed, count, recipe.network.input, recipe.data.target,
                                 output.units());
    });
  }
  ShardContent content;
  content.shape = recipe.network.input;
  content.classes = output.units();
  return make_node_samples(comm, kName, count, content, [&](const SampleArrays& arrays) {
    if (comm.node_rank() != 0) return;
    fill_random(arrays.images, 1);
    const std::vector<std::uint8_t> bytes = random_bytes(arrays.labels.size(), 2);
    std::transform(bytes.begin(), bytes.end(), arrays.labels.begin(),
                   [&](std::uint8_t byte) { return byte % output.units(); });
  });
}

// Synthetic samples have no statistics of their own; the work is the same with any numbers.
Recipe with_known_numbers(Recipe recipe) {
  for (NormalizeSpec* normalize : {&recipe.data.normalize, &recipe.data.normalize_targets})
    if (normalize->type == NormalizeType::dataset)
      *normalize = {NormalizeType::given, {0.5}, {0.25}};
  ClassWeightsSpec& weights = recipe.loss.class_weights;
  if (weights.type == ClassWeightsType::balanced) {
    const auto classes = static_cast<std::size_t>(Network(recipe.network).output_shape().units());
    weights = {ClassWeightsType::given, std::vector<double>(classes, 1)};
  }
  return recipe;
}

}  // namespace

BenchWorkload::BenchWorkload(Communicator& comm, const std::string& file,
                             const std::vector<std::string>& overrides)
    : BenchWorkload(comm, agree(comm, [given = load_recipe(comm, file, overrides), &comm] {
                      return with_strategy(given, comm.size());
                    })) {}

BenchWorkload::BenchWorkload(Communicator& comm, const Recipe& given)
    : BenchWorkload(given, make_grid(comm, given)) {}

BenchWorkload::BenchWorkload(const Recipe& given, const ProcessGrid& ranks)
    : recipe(with_known_numbers(given)),
      grid(ranks),
      model(agree(grid.world(),
                  [&] { return Model(recipe, stage_of(grid), slices_of(grid, recipe)); })),
      samples(make_bench_samples(grid, recipe, model.whole().output_shape())),
      connections(connect_devices(grid, recipe.parallel.backend)),
      step(recipe, grid, model, samples, connections.get()) {}

std::optional<OperandPrecision> BenchWorkload::tiles() const {
  const KernelChoice kernels = kernels_of(recipe);
  if (!kernels.multiplies_tiles()) return std::nullopt;
  return kernels.precision;
}

void BenchWorkload::run_steps(const ExecSpace& exec, int steps) {
  // The short last batch of an epoch is left out: all steps are alike.
  const std::int64_t per_epoch = samples.count / step.full_batch().samples();
  for (int i = 0; i < steps; ++i, ++steps_done_) {
    if (steps_done_ % per_epoch == 0)
      step.set_position({.step = steps_done_, .epoch = steps_done_ / per_epoch});
    step.enqueue(exec, false);
  }
  exec.fence("quern::bench::bench_end");
  check_launches();
}

}  // namespace quern

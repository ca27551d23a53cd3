// SPDX-License-Identifier: Apache-2.0
#include "train/shard_stream.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "io/sample_reader.hpp"
#include "runtime/memory.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/sample_stream.hpp"

namespace quern {

namespace {

/// The shards, and the arrays that samples out of them go to.
struct StreamedSet {
  StreamedSet(ShardSet shards, std::int64_t room)
      : set(std::move(shards)), reader(set), num_samples(static_cast<std::size_t>(room)) {
    const ShardContent& content = set.content();
    const auto units = num_samples * static_cast<std::size_t>(content.shape.units());
    if (content.has_pixels())
      images = View<std::uint8_t>("quern::train::streamed_images", units);
    else
      values = FloatView("quern::train::streamed_values", units);
    if (content.has_labels())
      labels = View<std::int32_t>("quern::train::streamed_labels", num_samples);
    if (content.has_targets()) {
      targets = FloatView("quern::train::streamed_targets",
                          num_samples * static_cast<std::size_t>(content.target_shape.units()));
    }
  }

  SampleArrays arrays() const {
    return {{images.data(), images.size()},
            {values.data(), values.size()},
            {labels.data(), labels.size()},
            {targets.data(), targets.size()}};
  }

  ShardSet set;
  SampleReader reader;
  std::size_t num_samples;
  View<std::uint8_t> images;
  FloatView values;
  View<std::int32_t> labels;
  FloatView targets;
};

void check_host(const Recipe& recipe) {
  if (kHostExecution) return;
  throw InputError("data.memory = " + std::to_string(recipe.data.memory) +
                   " bytes: larger sets are streamed into the memory of processors, and this quern "
                   "was built for GPUs (expected a set that fits, or no data.memory)");
}

// Of all ranks of a node together.
void check_node_memory(Communicator& world, std::int64_t bytes) {
  const std::vector<std::int64_t> bytes_of_rank = all_gather_value(world, bytes);
  agree(world, [&] {
    if (world.node_rank() != 0) return;
    std::int64_t sum = 0;
    for (int rank = 0; rank < world.size(); ++rank)
      if (world.host(rank) == world.host(world.rank()))
        sum += bytes_of_rank[static_cast<std::size_t>(rank)];
    check_memory(sum, "the part of the data set that is held in memory (data.memory)");
  });
}

}  // namespace

Samples stream_shards(const ProcessGrid& grid, const Recipe& recipe, const ShardSet& shards) {
  const std::int64_t sample_bytes = shards.content().memory_bytes();
  WindowPlan plan;
  WindowBuffers buffers;
  agree(grid.world(), [&] {
    check_host(recipe);
    const int num_ranks = grid.data().size();
    const BatchRule batches = training_batches(recipe, num_ranks, shards.count());
    plan = window_plan(recipe.data, batches, sample_bytes);
    buffers = window_buffers(plan, batches, grid.data().rank(), num_ranks);
  });
  const std::int64_t room = std::max<std::int64_t>(buffers.samples(), 1);
  check_node_memory(grid.world(), room * sample_bytes);

  Samples samples;
  const auto streamed =
      agree(grid.world(), [&] { return std::make_shared<StreamedSet>(shards, room); });
  const StagePlace place = stage_of(grid);
  const bool is_needed = place.is_first() || place.is_last();
  samples.stream = std::make_shared<SampleStream>(
      plan, buffers, recipe.seed, recipe.train.epochs,
      SampleStream::Source{
          .announce =
              [streamed, is_needed](std::int64_t first, std::int64_t count) {
                if (is_needed) streamed->reader.announce(first, count);
              },
          .read =
              [streamed, is_needed](std::int64_t first, std::int64_t count, std::int64_t to) {
                if (is_needed) streamed->reader.read(first, count, to, streamed->arrays());
              }});
  samples.count = shards.count();
  samples.shape = shards.shape();
  samples.classes = shards.classes();
  samples.class_names = shards.content().class_names;
  samples.data_hash = shards.content_hash();
  samples.images = streamed->images;
  samples.values = streamed->values;
  samples.labels = streamed->labels;
  samples.targets = streamed->targets;
  return samples;
}

}  // namespace quern

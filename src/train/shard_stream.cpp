// SPDX-License-Identifier: Apache-2.0
#include "train/shard_stream.hpp"

#include <algorithm>
#include <limits>
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
      : set(std::move(shards)), num_samples(static_cast<std::size_t>(room)), reader(set) {
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
  std::size_t num_samples;
  View<std::uint8_t> images;
  FloatView values;
  View<std::int32_t> labels;
  FloatView targets;
  SampleReader reader;  // the last member: it fills the arrays
};

void check_host(const DataSpec& data) {
  if (kHostExecution) return;
  throw InputError("data.memory = " + std::to_string(data.memory) +
                   " bytes: larger sets are streamed into the memory of processors, and this quern "
                   "was built for GPUs (expected a set that fits, or no data.memory)");
}

// What the system is asked to read ahead: enough that a disk, or a file system behind a network,
// has requests all the time.
constexpr std::int64_t kAheadBytes = std::int64_t{4} << 20;

// What a rank holds that computes nothing with samples, but may have to count something in them.
constexpr std::int64_t kFewSamples = 64;

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

Samples stream_shards(const ProcessGrid& grid, const ShardSet& shards, const StreamSpec& spec) {
  const std::int64_t sample_bytes = shards.content().memory_bytes();
  const StagePlace place = stage_of(grid);
  WindowPlan plan;
  WindowBuffers buffers;
  agree(grid.world(), [&] {
    check_host(spec.data);
    plan = window_plan(spec.data, spec.batches, sample_bytes);
    if (place.is_first() || place.is_last())
      buffers = window_buffers(plan, spec.batches, grid.data().rank(), grid.data().size());
  });
  const std::int64_t room =
      std::max<std::int64_t>(buffers.samples(), std::min(kFewSamples, shards.count()));
  check_node_memory(grid.world(), room * sample_bytes);

  Samples samples;
  const auto streamed =
      agree(grid.world(), [&] { return std::make_shared<StreamedSet>(shards, room); });
  samples.stream = std::make_shared<SampleStream>(
      plan, buffers, spec.seed, spec.epochs,
      SampleStream::Source{
          .announce = [streamed](std::int64_t first,
                                 std::int64_t count) { streamed->reader.announce(first, count); },
          .read =
              [streamed](std::int64_t first, std::int64_t count, std::int64_t to) {
                streamed->reader.read(first, count, to, streamed->arrays());
              },
          .finish = [streamed] { streamed->reader.finish(); },
          .ahead = std::max<std::int64_t>(1, kAheadBytes / sample_bytes)});
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

Samples stream_training_shards(const ProcessGrid& grid, const Recipe& recipe,
                               const ShardSet& shards) {
  const BatchRule batches = agree(
      grid.world(), [&] { return training_batches(recipe, grid.data().size(), shards.count()); });
  return stream_shards(grid, shards, {recipe.data, batches, recipe.seed, recipe.train.epochs});
}

Samples stream_shards_in_order(const ProcessGrid& grid, const DataSpec& data,
                               const BatchRule& batches, const ShardSet& shards) {
  DataSpec in_order = data;
  in_order.shuffle = false;
  in_order.window = 0;
  // However often it is gone through.
  constexpr std::int64_t kEpochs = std::numeric_limits<std::int32_t>::max();
  return stream_shards(grid, shards, {in_order, batches, 0, kEpochs});
}

}  // namespace quern

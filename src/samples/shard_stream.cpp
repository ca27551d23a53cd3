// SPDX-License-Identifier: Apache-2.0
#include "samples/shard_stream.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "comm/agree.hpp"
#include "device/inventory.hpp"
#include "io/sample_reader.hpp"
#include "runtime/memory.hpp"
#include "samples/sample_upload.hpp"
#include "samples/shard_visits.hpp"
#include "strategy/recipe_grid.hpp"
#include "strategy/sample_stream.hpp"
#include "tensor/kernel_choice.hpp"

namespace quern {

namespace {

/// What one of the buffers has that samples pass on their way to a device.
constexpr std::int64_t kUploadBytes = std::int64_t{8} << 20;

// As many, of windows with room for so many.
std::int64_t upload_samples(const ShardContent& content, std::int64_t room) {
  return std::clamp<std::int64_t>(kUploadBytes / content.memory_bytes(), 1,
                                  std::max<std::int64_t>(1, room));
}

/// The shards, and the arrays that samples out of them go to.
struct StreamedSet {
  StreamedSet(ShardSet shards, std::int64_t room)
      : set(std::move(shards)), memory("quern::samples::streamed", set.content(), room) {
    if (runs_device_kernels())
      upload.emplace(set, memory.arrays(), upload_samples(set.content(), room));
    else
      reader.emplace(set);
  }

  void announce(std::int64_t first, std::int64_t count) {
    if (upload)
      upload->announce(first, count);
    else
      reader->announce(first, count);
  }

  void read(std::int64_t first, std::int64_t count, std::int64_t place) {
    if (upload)
      upload->read(first, count, place);
    else
      reader->read(first, count, place, memory.arrays());
  }

  void finish() {
    if (upload)
      upload->finish();
    else
      reader->finish();
  }

  ShardSet set;
  SampleMemory<MemorySpace> memory;
  // One of them fills the arrays: the second one where they are a device's.
  std::optional<SampleReader> reader;
  std::optional<SampleUpload> upload;
};

// What the system is asked to read ahead: enough that a disk, or a file system behind a network,
// has requests all the time.
constexpr std::int64_t kAheadBytes = std::int64_t{4} << 20;

// What a rank holds that computes nothing with samples, but may have to count something in them.
constexpr std::int64_t kFewSamples = 64;

// Of the host's memory for all ranks of a node together.
void check_room(Communicator& world, const ShardContent& content, std::int64_t room,
                const std::string& memory_name) {
  const std::string what = "the part of the data set that is held in memory (" + memory_name + ")";
  const std::int64_t bytes = room * content.memory_bytes();
  const std::int64_t upload_bytes =
      runs_device_kernels() ? SampleUpload::num_bytes(content, upload_samples(content, room)) : 0;
  agree(world, [&] { check_device_data(bytes, what, available_device_memory()); });
  check_node_memory(world, (kHostExecution ? bytes : 0) + upload_bytes, what);
}

}  // namespace

Samples stream_shards(const ProcessGrid& grid, const ShardSet& shards, const StreamSpec& spec) {
  const std::int64_t sample_bytes = shards.content().memory_bytes();
  const StagePlace place = stage_of(grid);
  WindowPlan plan;
  WindowBuffers buffers;
  agree(grid.world(), [&] {
    plan = window_plan(spec.data, spec.batches, sample_bytes, spec.memory_name);
    if (place.is_first() || place.is_last())
      buffers = window_buffers(plan, spec.batches, grid.data().rank(), grid.data().size());
  });
  const std::int64_t room =
      std::max<std::int64_t>(buffers.samples(), std::min(kFewSamples, shards.count()));
  check_room(grid.world(), shards.content(), room, spec.memory_name);
  const std::string short_visits = short_visits_text(plan, buffers, shards, most_open_shards());
  if (!short_visits.empty()) log::warn(short_visits);

  Samples samples;
  const auto streamed =
      agree(grid.world(), [&] { return std::make_shared<StreamedSet>(shards, room); });
  samples.stream = std::make_shared<SampleStream>(
      plan, buffers, spec.seed, spec.epochs,
      SampleStream::Source{
          .announce = [streamed](std::int64_t first,
                                 std::int64_t count) { streamed->announce(first, count); },
          .read = [streamed](std::int64_t first, std::int64_t count,
                             std::int64_t to) { streamed->read(first, count, to); },
          .finish = [streamed] { streamed->finish(); },
          .ahead = std::max<std::int64_t>(1, kAheadBytes / sample_bytes)});
  samples.count = shards.count();
  samples.shape = shards.shape();
  samples.classes = shards.classes();
  samples.class_names = shards.content().class_names;
  samples.feature_names = shards.content().feature_names;
  samples.data_hash = shards.content_hash();
  samples.images = streamed->memory.images;
  samples.values = streamed->memory.values;
  samples.labels = streamed->memory.labels;
  samples.targets = streamed->memory.targets;
  return samples;
}

Samples stream_training_shards(const ProcessGrid& grid, const Recipe& recipe,
                               const ShardSet& shards) {
  const BatchRule batches = agree(
      grid.world(), [&] { return training_batches(recipe, grid.data().size(), shards.count()); });
  return stream_shards(grid, shards, {recipe.data, batches, recipe.seed, recipe.train.epochs});
}

Samples stream_shards_in_order(const ProcessGrid& grid, const DataSpec& data,
                               const BatchRule& batches, const ShardSet& shards,
                               const std::string& memory_name) {
  DataSpec in_order = data;
  in_order.shuffle = false;
  in_order.window = 0;
  // However often it is gone through.
  constexpr std::int64_t kEpochs = std::numeric_limits<std::int32_t>::max();
  return stream_shards(grid, shards, {in_order, batches, 0, kEpochs, memory_name});
}

}  // namespace quern

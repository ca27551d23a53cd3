// SPDX-License-Identifier: Apache-2.0
#include "samples/load_samples.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include "base/assert.hpp"
#include "base/sha256.hpp"
#include "comm/agree.hpp"
#include "dataset/random_dataset.hpp"
#include "device/inventory.hpp"
#include "runtime/memory.hpp"
#include "samples/shard_stream.hpp"
#include "strategy/batch_rule.hpp"
#include "strategy/sample_stream.hpp"

namespace quern {

namespace {

Samples load_all(Communicator& comm, const std::string& folder, const ShardSet& shards) {
  Samples samples = make_known_node_samples(
      comm, "the data set '" + folder + "'", shards.count(), shards.content(),
      [&](const SampleArrays& arrays) {
        const int threads = Kokkos::DefaultHostExecutionSpace().concurrency();
        // Every node reads the whole set: each from another shard on, not all the same at a time.
        const std::size_t begin = shards.shards().size() * static_cast<std::size_t>(comm.rank()) /
                                  static_cast<std::size_t>(comm.size());
        shards.read_share(comm.node_rank(), comm.node_size(), threads, arrays, begin);
      });
  samples.data_hash = shards.content_hash();
  return samples;
}

}  // namespace

Samples load_shards(Communicator& comm, const std::string& folder, const std::string& split) {
  return load_all(comm, folder, open_shards_once(comm, folder, split));
}

Samples load_samples_in_order(const ProcessGrid& grid, const DataSpec& data,
                              const ChooseBatches& choose_batches, const SetInOrder& set) {
  Communicator& comm = grid.world();
  const ShardSet shards = open_shards_once(comm, set.folder, set.split);
  if (!is_streamed(data, shards.count(), shards.content().memory_bytes()))
    return load_all(comm, set.folder, shards);
  return stream_shards_in_order(grid, data, choose_batches(shards.count()), shards,
                                set.memory_name);
}

Samples load_evaluation_samples(const ProcessGrid& grid, const Recipe& recipe, int trained_batch,
                                const SetInOrder& set) {
  return load_samples_in_order(
      grid, recipe.data,
      [&](std::int64_t num_samples) {
        return evaluation_batches(recipe, trained_batch, num_samples,
                                  recipe.parallel.micro_batches);
      },
      set);
}

std::int64_t random_sample_bytes(const Shape& shape, TargetType target, int outputs) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  constexpr auto kLabel = static_cast<std::int64_t>(sizeof(std::int32_t));
  return kFloat * shape.units() + (target == TargetType::label ? kLabel : kFloat * outputs);
}

Samples make_random_samples(std::uint64_t seed, std::int64_t count, const Shape& shape,
                            TargetType target, int outputs) {
  const auto size = static_cast<std::size_t>(count);
  const bool has_labels = target == TargetType::label;
  FloatView values("quern::samples::random_values", size * static_cast<std::size_t>(shape.units()));
  FloatView targets("quern::samples::random_targets",
                    has_labels ? 0 : size * static_cast<std::size_t>(outputs));
  View<std::int32_t> labels("quern::samples::random_labels", has_labels ? size : 0);
  const auto host_values = Kokkos::create_mirror_view(values);
  const auto host_targets = Kokkos::create_mirror_view(targets);
  const auto host_labels = Kokkos::create_mirror_view(labels);
  Samples samples;
  samples.count = count;
  samples.shape = shape;
  samples.classes = has_labels ? outputs : 0;
  fill_random_samples(seed, {host_values.data(), host_values.size()},
                      {host_targets.data(), host_targets.size()});
  fill_random_labels(seed, samples.classes, {host_labels.data(), host_labels.size()});
  Kokkos::deep_copy(values, host_values);
  Kokkos::deep_copy(targets, host_targets);
  Kokkos::deep_copy(labels, host_labels);
  samples.values = values;
  samples.targets = targets;
  samples.labels = labels;
  samples.data_hash = sha256(std::as_bytes(std::span(host_values.data(), host_values.size())));
  return samples;
}

Samples load_training_samples(const ProcessGrid& grid, const Recipe& recipe, const Shape& output) {
  Communicator& comm = grid.world();
  if (recipe.data.source == DataSource::shards) {
    const ShardSet shards = open_shards_once(comm, recipe.data.train, "train");
    return is_streamed(recipe.data, shards.count(), shards.content().memory_bytes())
               ? stream_training_shards(grid, recipe, shards)
               : load_all(comm, recipe.data.train, shards);
  }
  expect(recipe.data.source == DataSource::random, "no samples of a program");
  agree(comm, [&] {
    const std::int64_t sample_bytes =
        random_sample_bytes(recipe.network.input, recipe.data.target, output.units());
    const std::int64_t copies = comm.node_size();
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / (sample_bytes * copies);
    const std::int64_t count = std::min(recipe.data.samples, most);
    const std::string what = "data.samples of data.source = \"random\"";
    check_memory(count * sample_bytes * copies, what);
    check_address_space(count * sample_bytes, what);
    check_device_data(count * sample_bytes, what, available_device_memory());
  });
  return make_random_samples(recipe.seed, recipe.data.samples, recipe.network.input,
                             recipe.data.target, output.units());
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "train/samples.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "base/sha256.hpp"
#include "comm/agree.hpp"
#include "comm/exchange.hpp"
#include "dataset/random_dataset.hpp"
#include "device/inventory.hpp"
#include "io/shard_set.hpp"
#include "runtime/memory.hpp"

namespace quern {

namespace {

// Rank 0 opens every shard and tells the others what it found: a thousand ranks do not.
ShardSet open_once(Communicator& comm, const std::string& folder, const std::string& split) {
  std::string table;
  run_on_root(comm, [&] { table = ShardSet::open(folder, split).table(); });
  return ShardSet(folder, broadcast_string(comm, table));
}

View<const std::uint8_t> to_memory_space(std::span<const std::uint8_t> bytes) {
  if constexpr (kHostExecution) {
    return View<const std::uint8_t>(bytes.data(), bytes.size());
  } else {
    View<std::uint8_t> copy("quern::train::samples", bytes.size());
    Kokkos::deep_copy(
        copy, Kokkos::View<const std::uint8_t*, Kokkos::HostSpace,
                           Kokkos::MemoryTraits<Kokkos::Unmanaged>>(bytes.data(), bytes.size()));
    return copy;
  }
}

}  // namespace

Samples make_image_samples(Communicator& comm, const ImageSamplesShape& shape,
                           const FillImages& fill) {
  const std::int64_t image_bytes = shape.count * shape.image.units();
  const std::int64_t total = image_bytes + shape.count;
  agree(comm, [&] {
    if (comm.node_rank() == 0) check_memory(total, shape.name);
    check_device_data(total, shape.name, available_device_memory());
  });
  Samples samples;
  samples.storage = comm.allocate_node_shared(static_cast<std::size_t>(total));
  auto* bytes = reinterpret_cast<std::uint8_t*>(samples.storage->bytes().data());
  const std::span<std::uint8_t> images(bytes, static_cast<std::size_t>(image_bytes));
  const std::span<std::uint8_t> labels(bytes + image_bytes, static_cast<std::size_t>(shape.count));
  agree(comm, [&] { fill(images, labels); });
  samples.storage->publish();
  samples.count = shape.count;
  samples.shape = shape.image;
  samples.classes = shape.classes;
  samples.images = to_memory_space(images);
  samples.labels = to_memory_space(labels);
  return samples;
}

Samples load_shards(Communicator& comm, const std::string& folder, const std::string& split) {
  const ShardSet shards = open_once(comm, folder, split);
  Samples samples = make_image_samples(
      comm, {"the data set '" + folder + "'", shards.count(), shards.shape(), shards.classes()},
      [&](std::span<std::uint8_t> images, std::span<std::uint8_t> labels) {
        const int threads = Kokkos::DefaultHostExecutionSpace().concurrency();
        shards.read_share(comm.node_rank(), comm.node_size(), threads, images, labels);
      });
  samples.data_hash = shards.content_hash();
  return samples;
}

Samples make_random_samples(std::uint64_t seed, std::int64_t count, const Shape& shape,
                            int target_units) {
  const auto size = static_cast<std::size_t>(count);
  FloatView values("quern::train::random_values", size * static_cast<std::size_t>(shape.units()));
  FloatView targets("quern::train::random_targets", size * static_cast<std::size_t>(target_units));
  const auto host_values = Kokkos::create_mirror_view(values);
  const auto host_targets = Kokkos::create_mirror_view(targets);
  fill_random_samples(seed, {host_values.data(), host_values.size()},
                      {host_targets.data(), host_targets.size()});
  Kokkos::deep_copy(values, host_values);
  Kokkos::deep_copy(targets, host_targets);

  Samples samples;
  samples.count = count;
  samples.shape = shape;
  samples.values = values;
  samples.targets = targets;
  samples.data_hash = sha256(std::as_bytes(std::span(host_values.data(), host_values.size())));
  return samples;
}

Samples load_training_samples(Communicator& comm, const Recipe& recipe, const Shape& output) {
  if (recipe.data.source == DataSource::shards)
    return load_shards(comm, recipe.data.train, "train");
  if (recipe.data.source == DataSource::program) {
    throw AgreedError(
        "data.source = \"program\" is for C++ programs that bring their own samples "
        "(expected \"shards\" or \"random\")",
        ExitCode::bad_input);
  }
  agree(comm, [&] {
    const std::int64_t sample_bytes =
        (std::int64_t{recipe.network.input.units()} + output.units()) *
        static_cast<std::int64_t>(sizeof(float));
    const std::int64_t copies = comm.node_size();
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / (sample_bytes * copies);
    const std::int64_t count = std::min(recipe.data.samples, most);
    const std::string what = "data.samples of data.source = \"random\"";
    check_memory(count * sample_bytes * copies, what);
    check_device_data(count * sample_bytes, what, available_device_memory());
  });
  return make_random_samples(recipe.seed, recipe.data.samples, recipe.network.input,
                             output.units());
}

}  // namespace quern

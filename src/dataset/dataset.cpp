// SPDX-License-Identifier: Apache-2.0
#include "dataset/dataset.hpp"

#include <fmt/format.h>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "io/shard_set.hpp"

namespace quern {

DatasetInfo inspect_shards(const std::filesystem::path& folder, const std::string& split) {
  const ShardSet set = ShardSet::open(folder, split);
  DatasetInfo info;
  info.folder = folder;
  info.name = set.name();
  info.split = set.split();
  info.count = set.count();
  info.shape = set.shape();
  info.classes = set.classes();
  info.num_shards = static_cast<int>(set.shards().size());
  info.image_bytes = set.image_bytes();
  info.label_bytes = set.label_bytes();
  info.content_hash = set.content_hash();
  return info;
}

void read_shards(const DatasetInfo& info, std::span<std::uint8_t> images,
                 std::span<std::uint8_t> labels) {
  read_share_of_shards(info, 0, 1, images, labels);
}

void read_share_of_shards(const DatasetInfo& info, int worker, int num_workers,
                          std::span<std::uint8_t> images, std::span<std::uint8_t> labels) {
  expect(worker >= 0 && worker < num_workers, "a worker out of those that exist");
  const ShardSet set = ShardSet::open(info.folder, info.split);
  if (set.content_hash() != info.content_hash) {
    throw UnusableError(
        fmt::format("the shards in '{}' have changed since the run began", info.folder.string()));
  }
  const auto step = static_cast<std::size_t>(num_workers);
  for (auto shard = static_cast<std::size_t>(worker); shard < set.shards().size(); shard += step) {
    set.read_shard_into(shard, images, labels);
  }
}

}  // namespace quern

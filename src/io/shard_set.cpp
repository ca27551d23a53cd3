// SPDX-License-Identifier: Apache-2.0
#include "io/shard_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "io/shard_header.hpp"
#include "io/shard_opening.hpp"
#include "io/shard_place.hpp"

namespace quern {

ShardSet ShardSet::open(const std::filesystem::path& folder, const std::string& split) {
  const FoundShards found = find_shards(folder, split);
  ShardTableMaker maker(found);
  for (int index = 0; index < found.count(); ++index)
    maker.add(read_shard_header(found.file(index)));
  return ShardSet(std::move(maker).table());
}

ShardSet::ShardSet(const std::filesystem::path& folder, const std::string& table)
    : table_(ShardTable::parse(folder, table)) {}

void ShardSet::check_file(std::size_t index) const {
  const Shard& shard = table_.shards.at(index);
  const ShardFileName says = {name(), split(), static_cast<int>(index),
                              static_cast<int>(shards().size())};
  const ShardHeader header = read_shard_header({shard.path, says});
  const bool has_content = header.content == content();
  const auto holds = [](const Shard& it) {
    return fmt::format("{} samples from {} on, with SHA-256 {}{}", it.count, it.first_index,
                       it.sha256_input,
                       it.sha256_answer.empty() ? "" : " and of their answers " + it.sha256_answer);
  };
  const std::string found = holds(header.shard);
  const std::string expected = holds(shard);
  if (has_content && found == expected) return;
  throw InputError(fmt::format(
      "'{}': it holds {}, expected {}{}, as the file of this name that another rank has opened",
      shard.path.string(), found, expected, has_content ? "" : " and other shapes or classes"));
}

std::string ShardSet::content_hash() const {
  return sha256(table_.content_text());
}

void ShardSet::read_share(int worker, int num_workers, int num_threads, const SampleArrays& arrays,
                          std::size_t begin) const {
  expect(worker >= 0 && worker < num_workers, "a worker out of those that exist");
  const auto step = static_cast<std::size_t>(num_workers);
  std::deque<std::future<void>> checks;
  const auto finish_checks = [&](std::size_t most_left) {
    while (checks.size() > most_left) {
      std::future<void> oldest = std::move(checks.front());
      checks.pop_front();
      oldest.get();
    }
  };
  std::vector<std::size_t> share;
  for (auto index = static_cast<std::size_t>(worker); index < shards().size(); index += step)
    share.push_back(index);
  std::ranges::rotate(share, std::ranges::lower_bound(share, begin));
  for (const std::size_t index : share) {
    const Shard& shard = shards()[index];
    auto place = std::make_shared<ShardPlace>(content(), shard, shard.first_index, arrays);
    place->read();
    finish_checks(static_cast<std::size_t>(std::max(num_threads, 1) - 1));
    // Deferred where no thread can be had.
    checks.push_back(std::async(std::launch::async | std::launch::deferred,
                                [place = std::move(place)] { place->verify(); }));
  }
  finish_checks(0);
}

void ShardSet::read_shard(const Shard& shard, const SampleArrays& arrays) const {
  ShardPlace place(content(), shard, 0, arrays);
  place.read();
  place.verify();
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "io/shard_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <set>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "base/system_failure.hpp"
#include "base/text.hpp"
#include "io/folder_files.hpp"
#include "io/shard_format.hpp"
#include "io/shard_header.hpp"
#include "io/shard_place.hpp"

namespace quern {

namespace {

std::string quoted(const std::set<std::string>& words) {
  return printable(fmt::format("'{}'", fmt::join(words, "', '")));
}

void keep_split(std::vector<ShardFile>& files, const std::filesystem::path& folder,
                const std::string& split) {
  std::set<std::string> splits;
  for (const ShardFile& file : files) splits.insert(file.says.split);
  if (split.empty()) {
    if (splits.size() > 1) {
      throw InputError(
          fmt::format("'{}' holds shards of the splits {}: say which is meant (--split train "
                      "or --split test)",
                      folder.string(), quoted(splits)));
    }
    return;
  }
  if (!splits.contains(split)) {
    const bool can_be_made = split == "train" || split == "test";
    throw InputError(fmt::format(
        "'{}' holds no shards of split '{}', only of {}{}", folder.string(), split, quoted(splits),
        can_be_made ? fmt::format(" (quern shard --split {} makes them)", split) : ""));
  }
  std::erase_if(files, [&](const ShardFile& file) { return file.says.split != split; });
}

// For relative paths: most often the program was started elsewhere.
std::string seen_from(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  return folder.is_absolute() || error ? "" : fmt::format(" in '{}'", here.string());
}

// -> the files of one whole set in the order of their indices.
std::vector<ShardFile> find_set(const std::filesystem::path& folder, const std::string& split) {
  std::error_code error;
  if (!std::filesystem::exists(status_of(folder))) {
    throw InputError(fmt::format("no folder '{}'{} ('quern shard' makes shards)", folder.string(),
                                 seen_from(folder)));
  }
  std::vector<ShardFile> files = list_shard_files(folder);
  if (files.empty()) {
    const bool holds_sets = std::filesystem::is_directory(folder / "train", error);
    throw InputError(fmt::format(
        "no shards in '{0}' ({1})", folder.string(),
        holds_sets ? "its folders train and test are data sets" : "'quern shard' makes them"));
  }
  keep_split(files, folder, split);
  std::set<std::string> names;
  std::set<std::string> counts;
  for (const ShardFile& file : files) {
    names.insert(file.says.name);
    counts.insert(std::to_string(file.says.count));
  }
  if (names.size() > 1) {
    throw InputError(
        fmt::format("'{}' holds shards of several data sets: {}", folder.string(), quoted(names)));
  }
  if (counts.size() > 1) {
    throw InputError(fmt::format("'{}' mixes shards of several sets: of {} shards", folder.string(),
                                 fmt::join(counts, " and of ")));
  }
  // The indices are sorted and no two files have the same name, so a gap is all that can be wrong.
  for (int index = 0; index < files[0].says.count; ++index) {
    const auto at = static_cast<std::size_t>(index);
    if (at >= files.size() || files[at].says.index != index) {
      ShardFileName missing = files[0].says;
      missing.index = index;
      throw InputError(
          fmt::format("shard '{}' is missing", printable((folder / to_string(missing)).string())));
    }
  }
  if (files.size() != static_cast<std::size_t>(files[0].says.count)) {
    throw InputError(fmt::format("'{}' is a shard too many", files.back().path.string()));
  }
  return files;
}

void check_agreement(const ShardFile& file, const ShardHeader& header, const ShardHeader& first,
                     std::int64_t expected_first_index) {
  const auto fail = [&](const std::string& what) {
    throw InputError(fmt::format("'{}': {}", file.path.string(), what));
  };
  if (header.total != first.total) {
    fail(fmt::format("total is {}, in the first shard {}", header.total, first.total));
  }
  const ShardContent& mine = header.content;
  const ShardContent& theirs = first.content;
  if (mine.classes != theirs.classes) {
    fail(fmt::format("classes is {}, in the first shard {}", mine.classes, theirs.classes));
  }
  if (mine.shape != theirs.shape) {
    fail(fmt::format("{} have shape {}, in the first shard {}", mine.input_name(),
                     to_string(mine.shape), to_string(theirs.shape)));
  }
  if (mine != theirs) {
    fail(fmt::format("it holds {}, the first shard {}", to_string(mine), to_string(theirs)));
  }
  if (header.shard.first_index != expected_first_index) {
    fail(fmt::format("first_index is {}, but the shards before hold {} samples",
                     header.shard.first_index, expected_first_index));
  }
}

}  // namespace

ShardSet ShardSet::open(const std::filesystem::path& folder, const std::string& split) {
  if (!split.empty() && !is_split(split)) {
    throw InputError(fmt::format("unknown split '{}', expected train or test", split));
  }
  const std::vector<ShardFile> files = find_set(folder, split);
  ShardTable table;
  ShardHeader first;
  for (const ShardFile& file : files) {
    const ShardHeader header = read_shard_header(file);
    if (table.shards.empty()) first = header;
    check_agreement(file, header, first, table.count);
    table.add(header.shard);
  }
  if (table.count != first.total) {
    throw InputError(fmt::format("the shards in '{}' hold {} samples, expected {} (total)",
                                 folder.string(), table.count, first.total));
  }
  table.name = files[0].says.name;
  table.split = first.split;
  table.content = first.content;
  return ShardSet(std::move(table));
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
      "'{}': it holds {}, expected {}{}, as the file of this name that rank 0 has opened",
      shard.path.string(), found, expected, has_content ? "" : " and other shapes or classes"));
}

std::string ShardSet::content_hash() const {
  return sha256(table_.content_text());
}

void ShardSet::read_share(int worker, int num_workers, int num_threads,
                          const SampleArrays& arrays) const {
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
  for (auto index = static_cast<std::size_t>(worker); index < shards().size(); index += step) {
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

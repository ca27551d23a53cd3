// SPDX-License-Identifier: Apache-2.0
#include "io/shard_opening.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "io/folder_files.hpp"

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
    throw InputError(fmt::format(
        "'{}' holds no shards of split '{}', only of {} (quern shard --split {} makes them)",
        folder.string(), split, quoted(splits), split));
  }
  std::erase_if(files, [&](const ShardFile& file) { return file.says.split != split; });
}

// For relative paths: most often the program was started elsewhere.
std::string seen_from(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  return folder.is_absolute() || error ? "" : fmt::format(" in '{}'", here.string());
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
  if (mine.class_names != theirs.class_names || mine.feature_names != theirs.feature_names) {
    const bool are_classes = mine.class_names != theirs.class_names;
    fail(fmt::format(
        "its {} have other names than in the first shard (or only one of them has names)",
        are_classes ? "classes" : "features"));
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

FoundShards find_shards(const std::filesystem::path& folder, const std::string& split) {
  if (!split.empty() && !is_split(split)) {
    throw InputError(fmt::format("unknown split '{}', expected train or test", split));
  }
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
  return {folder, files[0].says};
}

ShardFile FoundShards::file(int index) const {
  ShardFileName says = of_first;
  says.index = index;
  return {folder / to_string(says), says};
}

OpenedShards open_shards(const FoundShards& set, int first, int end) {
  OpenedShards opened;
  try {
    for (int index = first; index < end; ++index)
      opened.headers.push_back(read_shard_header(set.file(index)));
  } catch (const Error& problem) {
    opened.problem = problem;
  } catch (const std::exception& problem) {
    opened.problem = Error(problem.what());
  }
  return opened;
}

// Neighbours with the same content as a set of their own: names of classes may be long. What may
// hold anything has its length in front.
std::string OpenedShards::text() const {
  std::string text;
  const auto add = [&](const std::string& part) {
    text += fmt::format("{} {}\n", part.size(), part);
  };
  for (std::size_t first = 0; first < headers.size();) {
    ShardTable table;
    table.split = headers[first].split;
    table.content = headers[first].content;
    std::string numbers;
    std::size_t end = first;
    for (; end < headers.size(); ++end) {
      const ShardHeader& header = headers[end];
      if (header.split != table.split || header.content != table.content) break;
      table.add(header.shard);
      numbers += fmt::format("{} {} {} {} ", header.shard_index, header.shard_count, header.total,
                             header.shard.first_index);
    }
    text += fmt::format("{} {}", end - first, numbers);
    add(table.text());
    first = end;
  }
  text += "0\n";
  text += fmt::format("{} ", problem ? static_cast<int>(problem->code()) : 0);
  add(problem ? problem->what() : "");
  return text;
}

OpenedShards OpenedShards::parse(const FoundShards& set, const std::string& text) {
  OpenedShards opened;
  std::istringstream from(text);
  for (std::size_t count = 0; from >> count && count > 0;) {
    const std::size_t first = opened.headers.size();
    std::vector<std::int64_t> first_indices;
    for (std::size_t i = 0; i < count && from; ++i) {
      ShardHeader& header = opened.headers.emplace_back();
      from >> header.shard_index >> header.shard_count >> header.total >>
          first_indices.emplace_back();
    }
    const ShardTable table = ShardTable::parse("", read_part(from, text.size()));
    expect(table.shards.size() == count, "as many shards as were told");
    for (std::size_t i = 0; i < count; ++i) {
      ShardHeader& header = opened.headers[first + i];
      header.split = table.split;
      header.content = table.content;
      header.shard = table.shards[i];
      header.shard.path = set.file(static_cast<int>(header.shard_index)).path;
      header.shard.first_index = first_indices[i];
    }
  }
  int code = 0;
  from >> code;
  const std::string message = read_part(from, text.size());
  if (code != 0) opened.problem = Error(message, static_cast<ExitCode>(code));
  expect(!from.fail(), "a text that OpenedShards::text() has made");
  return opened;
}

void ShardTableMaker::add(const ShardHeader& header) {
  if (table_.shards.empty()) first_ = header;
  check_agreement(set_.file(num_added()), header, first_, table_.count);
  table_.add(header.shard);
}

ShardTable ShardTableMaker::table() && {
  if (table_.count != first_.total) {
    throw InputError(fmt::format("the shards in '{}' hold {} samples, expected {} (total)",
                                 set_.folder.string(), table_.count, first_.total));
  }
  table_.name = set_.of_first.name;
  table_.split = first_.split;
  table_.content = first_.content;
  return std::move(table_);
}

}  // namespace quern

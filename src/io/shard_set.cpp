// SPDX-License-Identifier: Apache-2.0
#include "io/shard_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <future>
#include <initializer_list>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "base/system_failure.hpp"
#include "base/text.hpp"
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
    throw InputError(fmt::format("'{}' holds no shards of split '{}', only of {}", folder.string(),
                                 split, quoted(splits)));
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
  if (!std::filesystem::exists(folder, error)) {
    throw_system_failure(error.value(), fmt::format("cannot read folder '{}'", folder.string()));
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
  if (header.first_index != expected_first_index) {
    fail(fmt::format("first_index is {}, but the shards before hold {} samples", header.first_index,
                     expected_first_index));
  }
}

}  // namespace

ShardSet ShardSet::open(const std::filesystem::path& folder, const std::string& split) {
  if (!split.empty() && !is_split(split)) {
    throw InputError(fmt::format("unknown split '{}', expected train or test", split));
  }
  const std::vector<ShardFile> files = find_set(folder, split);
  ShardSet set;
  ShardHeader first;
  for (const ShardFile& file : files) {
    const ShardHeader header = read_shard_header(file);
    if (set.shards_.empty()) first = header;
    check_agreement(file, header, first, set.count_);
    set.add({file.path, header.first_index, header.count, header.sha256_input, header.sha256_answer,
             header.input_offset, header.answer_offset, header.block_samples, header.block_digits,
             header.block_sums_offset, header.sha256_blocks});
  }
  if (set.count_ != first.total) {
    throw InputError(fmt::format("the shards in '{}' hold {} samples, expected {} (total)",
                                 folder.string(), set.count_, first.total));
  }
  set.name_ = files[0].says.name;
  set.split_ = first.split;
  set.content_ = first.content;
  return set;
}

void ShardSet::check_file(std::size_t index) const {
  const Shard& shard = shards_.at(index);
  const ShardFileName says = {name_, split_, static_cast<int>(index),
                              static_cast<int>(shards_.size())};
  const ShardHeader header = read_shard_header({shard.path, says});
  if (header.content == content_ && header.first_index == shard.first_index &&
      header.count == shard.count && header.sha256_input == shard.sha256_input &&
      header.sha256_answer == shard.sha256_answer) {
    return;
  }
  const auto holds = [](std::int64_t first, std::int64_t count, const std::string& input,
                        const std::string& answer) {
    return fmt::format("{} samples from {} on, with SHA-256 {}{}", count, first, input,
                       answer.empty() ? "" : " and of their answers " + answer);
  };
  throw InputError(fmt::format(
      "'{}': it holds {}, expected {}{}, as the file of this name that rank 0 has opened",
      shard.path.string(),
      holds(header.first_index, header.count, header.sha256_input, header.sha256_answer),
      holds(shard.first_index, shard.count, shard.sha256_input, shard.sha256_answer),
      header.content == content_ ? "" : " and other shapes or classes"));
}

void ShardSet::add(Shard shard) {
  count_ += shard.count;
  shards_.push_back(std::move(shard));
}

// Version 1 has its words for what it can hold: the hash of such sets is in checkpoints.
std::string ShardSet::content_text() const {
  const auto shape_text = [](const Shape& shape) {
    return fmt::format("{} {} {}", shape.channels, shape.height, shape.width);
  };
  const std::int64_t version = format_version_of(content_);
  std::string text = fmt::format("{} {}\nshape {}\nclasses {}\n", kShardFormat, version,
                                 shape_text(content_.shape), content_.classes);
  if (version > 1) {
    text += fmt::format("input {}\nanswer {} {} {}\n", to_string(content_.input),
                        to_string(content_.answer), to_string(content_.answer_type),
                        shape_text(content_.target_shape));
  }
  for (const Shard& shard : shards_) {
    text += fmt::format("{} {}", shard.count, shard.sha256_input);
    text += (content_.answer == Answer::none ? "" : " ") + shard.sha256_answer + "\n";
  }
  return text;
}

std::string ShardSet::content_hash() const {
  return sha256(content_text());
}

// A name may hold anything, so its length comes first.
std::string ShardSet::table() const {
  const std::string names = join_lines(content_.class_names);
  std::string text = fmt::format("{} {} {} {}\n{} {}\n", split_, shards_.size(), name_.size(),
                                 name_, names.size(), names) +
                     content_text();
  for (const Shard& shard : shards_) {
    text += fmt::format("{} {} {} {} {}", shard.input_offset, shard.answer_offset,
                        shard.block_samples, shard.block_digits, shard.block_sums_offset);
    text += (shard.block_samples > 0 ? " " : "") + shard.sha256_blocks + "\n";
  }
  return text;
}

namespace {

template <class Enum>
Enum enum_of(const std::string& word, std::initializer_list<Enum> values) {
  for (const Enum value : values) {
    if (word == to_string(value)) return value;
  }
  throw Error(fmt::format("'{}' in the table of a shard set", word));
}

ShardContent read_content(std::istream& text) {
  ShardContent content;
  const auto read_shape = [&](Shape& shape) {
    text >> shape.channels >> shape.height >> shape.width;
  };
  std::string word;
  std::int64_t version = 0;
  text >> word >> version >> word;
  read_shape(content.shape);
  text >> word >> content.classes;
  if (version == 1 || !text) return content;
  text >> word >> word;
  using enum StoredType;
  content.input = enum_of(word, {uint8, float16, float32});
  text >> word >> word;
  content.answer = enum_of(word, {Answer::none, Answer::labels, Answer::targets});
  text >> word;
  content.answer_type = enum_of(word, {uint8, int32, float32});
  read_shape(content.target_shape);
  return content;
}

}  // namespace

ShardSet::ShardSet(const std::filesystem::path& folder, const std::string& table) {
  std::istringstream text(table);
  ShardFileName file;
  std::size_t length = 0;
  const auto read_text = [&] {
    text >> length;
    text.ignore(1);
    std::string words(std::min(length, table.size()), '\0');
    text.read(words.data(), static_cast<std::streamsize>(words.size()));
    return words;
  };
  text >> file.split >> file.count;
  file.name = read_text();
  std::vector<std::string> class_names = split_lines(read_text());
  content_ = read_content(text);
  content_.class_names = std::move(class_names);
  for (; file.index < file.count && text; ++file.index) {
    Shard shard;
    shard.path = folder / to_string(file);
    shard.first_index = count_;
    text >> shard.count >> shard.sha256_input;
    if (content_.answer != Answer::none) text >> shard.sha256_answer;
    add(std::move(shard));
  }
  for (Shard& shard : shards_) {
    text >> shard.input_offset >> shard.answer_offset >> shard.block_samples >>
        shard.block_digits >> shard.block_sums_offset;
    if (shard.block_samples > 0) text >> shard.sha256_blocks;
  }
  name_ = file.name;
  split_ = file.split;
  expect(!text.fail() && this->table() == table, "a table that ShardSet::table() has made");
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
  for (auto index = static_cast<std::size_t>(worker); index < shards_.size(); index += step) {
    const Shard& shard = shards_[index];
    auto place = std::make_shared<ShardPlace>(content_, shard, shard.first_index, arrays);
    place->read();
    finish_checks(static_cast<std::size_t>(std::max(num_threads, 1) - 1));
    // Deferred where no thread can be had.
    checks.push_back(std::async(std::launch::async | std::launch::deferred,
                                [place = std::move(place)] { place->verify(); }));
  }
  finish_checks(0);
}

void ShardSet::read_shard(const Shard& shard, const SampleArrays& arrays) const {
  ShardPlace place(content_, shard, 0, arrays);
  place.read();
  place.verify();
}

}  // namespace quern

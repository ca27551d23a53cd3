// SPDX-License-Identifier: Apache-2.0
#include "io/shard_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/shard_format.hpp"

namespace quern {

void ShardTable::add(Shard shard) {
  count += shard.count;
  shards.push_back(std::move(shard));
}

// Version 1 has its words for what it can hold: the hash of such sets is in checkpoints.
std::string ShardTable::content_text() const {
  const auto shape_text = [](const Shape& shape) {
    return fmt::format("{} {} {}", shape.channels, shape.height, shape.width);
  };
  const std::int64_t version = format_version_of(content);
  std::string text = fmt::format("{} {}\nshape {}\nclasses {}\n", kShardFormat, version,
                                 shape_text(content.shape), content.classes);
  if (version > 1) {
    text += fmt::format("input {}\nanswer {} {} {}\n", to_string(content.input),
                        to_string(content.answer), to_string(content.answer_type),
                        shape_text(content.target_shape));
  }
  for (const Shard& shard : shards) {
    text += fmt::format("{} {}", shard.count, shard.sha256_input);
    text += (content.answer == Answer::none ? "" : " ") + shard.sha256_answer + "\n";
  }
  return text;
}

// A name may hold anything, so its length comes first.
std::string ShardTable::text() const {
  const std::string classes = join_lines(content.class_names);
  const std::string features = join_lines(content.feature_names);
  std::string text = fmt::format("{} {} {} {}\n{} {}\n{} {}\n", split, shards.size(), name.size(),
                                 name, classes.size(), classes, features.size(), features) +
                     content_text();
  for (const Shard& shard : shards) {
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

std::string read_part(std::istream& from, std::size_t most) {
  std::size_t length = 0;
  from >> length;
  from.ignore(1);
  std::string part(std::min(length, most), '\0');
  from.read(part.data(), static_cast<std::streamsize>(part.size()));
  return part;
}

ShardTable ShardTable::parse(const std::filesystem::path& folder, const std::string& text) {
  ShardTable table;
  std::istringstream from(text);
  ShardFileName file;
  from >> file.split >> file.count;
  file.name = read_part(from, text.size());
  std::vector<std::string> class_names = split_lines(read_part(from, text.size()));
  std::vector<std::string> feature_names = split_lines(read_part(from, text.size()));
  table.content = read_content(from);
  table.content.class_names = std::move(class_names);
  table.content.feature_names = std::move(feature_names);
  for (; file.index < file.count && from; ++file.index) {
    Shard shard;
    shard.path = folder / to_string(file);
    shard.first_index = table.count;
    from >> shard.count >> shard.sha256_input;
    if (table.content.answer != Answer::none) from >> shard.sha256_answer;
    table.add(std::move(shard));
  }
  for (Shard& shard : table.shards) {
    from >> shard.input_offset >> shard.answer_offset >> shard.block_samples >>
        shard.block_digits >> shard.block_sums_offset;
    if (shard.block_samples > 0) from >> shard.sha256_blocks;
  }
  table.name = file.name;
  table.split = file.split;
  expect(!from.fail() && table.text() == text, "a text that ShardTable::text() has made");
  return table;
}

}  // namespace quern

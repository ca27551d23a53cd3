// SPDX-License-Identifier: Apache-2.0
#include "io/shard_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <system_error>
#include <tuple>

#include "base/error.hpp"

namespace quern {

bool is_split(const std::string& text) {
  return text == "train" || text == "test";
}

std::string to_string(const ShardFileName& file_name) {
  return fmt::format("{}-{}-{:05}-of-{:05}.h5", file_name.name, file_name.split, file_name.index,
                     file_name.count);
}

std::optional<ShardFileName> parse_shard_file_name(const std::string& file_name) {
  constexpr std::size_t kMaxLength = 255;  // of a file name; std::regex recurses over the text
  static const std::regex pattern(R"((.+)-(train|test)-(\d{5})-of-(\d{5})\.h5)");
  std::smatch match;
  if (file_name.size() > kMaxLength || !std::regex_match(file_name, match, pattern)) return {};
  return ShardFileName{match[1], match[2], std::stoi(match[3]), std::stoi(match[4])};
}

std::vector<ShardFile> list_shard_files(const std::filesystem::path& folder) {
  std::vector<ShardFile> files;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto says = parse_shard_file_name(entry->path().filename().string());
    if (says) files.push_back({entry->path(), *says});
  }
  if (error) {
    throw InputError(fmt::format("cannot read folder '{}': {}", folder.string(), error.message()));
  }
  const auto key = [](const ShardFile& file) {
    return std::tie(file.says.name, file.says.split, file.says.count, file.says.index);
  };
  std::sort(files.begin(), files.end(),
            [&](const ShardFile& a, const ShardFile& b) { return key(a) < key(b); });
  return files;
}

}  // namespace quern

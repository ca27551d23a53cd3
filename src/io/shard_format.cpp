// SPDX-License-Identifier: Apache-2.0
#include "io/shard_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <tuple>

#include "base/error.hpp"
#include "base/system_failure.hpp"

namespace quern {

bool is_split(const std::string& text) {
  return text == "train" || text == "test";
}

std::string to_string(const ShardFileName& file_name) {
  return fmt::format("{}-{}-{:05}-of-{:05}.h5", file_name.name, file_name.split, file_name.index,
                     file_name.count);
}

std::optional<ShardFileName> parse_shard_file_name(const std::string& file_name) {
  std::string_view rest = file_name;
  const auto take_text = [&](std::string_view end) {
    if (!rest.ends_with(end)) return false;
    rest.remove_suffix(end.size());
    return true;
  };
  const auto take_number = [&](int& number) {
    constexpr std::size_t kDigits = 5;
    if (rest.size() < kDigits) return false;
    const std::string_view digits = rest.substr(rest.size() - kDigits);
    if (digits.find_first_not_of("0123456789") != std::string_view::npos) return false;
    number = std::stoi(std::string(digits));
    return take_text(digits);
  };
  ShardFileName says;
  if (!take_text(".h5") || !take_number(says.count) || !take_text("-of-") ||
      !take_number(says.index)) {
    return {};
  }
  if (take_text("-train-")) {
    says.split = "train";
  } else if (take_text("-test-")) {
    says.split = "test";
  }
  says.name = rest;
  if (says.split.empty() || says.name.empty()) return {};
  return says;
}

std::vector<ShardFile> list_shard_files(const std::filesystem::path& folder) {
  std::vector<ShardFile> files;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto says = parse_shard_file_name(entry->path().filename().string());
    if (says) files.push_back({entry->path(), *says});
  }
  if (error)
    throw_read_failure(error.value(), fmt::format("cannot read folder '{}'", folder.string()));
  const auto key = [](const ShardFile& file) {
    return std::tie(file.says.name, file.says.split, file.says.count, file.says.index);
  };
  std::sort(files.begin(), files.end(),
            [&](const ShardFile& a, const ShardFile& b) { return key(a) < key(b); });
  return files;
}

}  // namespace quern

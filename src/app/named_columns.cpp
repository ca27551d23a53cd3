// SPDX-License-Identifier: Apache-2.0
#include "app/named_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <system_error>

namespace quern {

std::string path_with_columns(const SampleSource& source, const std::vector<std::string>& names) {
  const std::filesystem::path file = file_of(source);
  std::error_code error;
  // A pipe is left to its reader.
  if (names.empty() || file.string() != source.path ||
      !std::filesystem::is_regular_file(file, error))
    return source.path;
  const std::optional<TableColumns> table = columns_of(source);
  if (!table || table->names.empty()) return source.path;
  std::vector<std::string> found;
  for (std::size_t column = 0; column < table->names.size(); ++column)
    found.push_back(column_name(table->names, column));
  if (found == names) return source.path;
  std::vector<std::ptrdiff_t> numbers;
  for (const std::string& name : names) {
    if (std::ranges::count(found, name) != 1) return source.path;
    numbers.push_back(std::ranges::find(found, name) - found.begin() + 1);
  }
  return fmt::format("{}:{}", source.path, fmt::join(numbers, ","));
}

}  // namespace quern

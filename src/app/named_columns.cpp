// SPDX-License-Identifier: Apache-2.0
#include "app/named_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
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
  std::map<std::string_view, std::vector<std::size_t>> numbers_of_name;
  for (std::size_t column = 0; column < found.size(); ++column)
    numbers_of_name[found[column]].push_back(column + 1);
  std::vector<std::size_t> numbers;
  for (const std::string& name : names) {
    const std::vector<std::size_t>& having = numbers_of_name[name];
    if (having.size() != 1) return source.path;
    numbers.push_back(having.front());
  }
  return fmt::format("{}:{}", source.path, fmt::join(numbers, ","));
}

}  // namespace quern

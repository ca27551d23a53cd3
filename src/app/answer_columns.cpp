// SPDX-License-Identifier: Apache-2.0
#include "app/answer_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/number_runs.hpp"
#include "base/text.hpp"

namespace quern {

namespace {

using Columns = std::vector<std::size_t>;

bool has(const Columns& columns, std::size_t column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

bool are_same_file(const SampleSource& one, const SampleSource& other) {
  std::error_code error;
  return std::filesystem::equivalent(file_of(one), file_of(other), error);
}

// "column 3 ('y')"
std::string text_of(std::size_t column, const std::vector<std::string>& names) {
  if (names.empty()) return fmt::format("column {}", column + 1);
  return fmt::format("column {} ('{}')", column + 1, printable(names[column]));
}

// "1-3,5", as users name columns.
std::string choice_text(const Columns& columns) {
  std::vector<std::string> words;
  for (const auto& [first, last] : number_runs(columns))
    words.push_back(first == last ? std::to_string(first + 1)
                                  : fmt::format("{}-{}", first + 1, last + 1));
  return fmt::format("{}", fmt::join(words, ","));
}

}  // namespace

void check_answers_are_no_inputs(const SampleSource& inputs, const SampleSource& answers,
                                 const char* answer_name) {
  // Only what both name is opened here, so that a pipe is left to its reader.
  if (!are_same_file(inputs, answers)) return;
  const std::optional<TableColumns> given = columns_of(inputs);
  const std::optional<TableColumns> asked = columns_of(answers);
  if (!given || !asked) return;
  Columns others;
  std::optional<std::size_t> shared;
  for (const std::size_t column : given->chosen) {
    if (!has(asked->chosen, column))
      others.push_back(column);
    else if (!shared)
      shared = column;
  }
  if (!shared) return;
  const std::string path = file_of(inputs).string();
  const std::string expected =
      others.empty()
          ? "expected inputs of other columns"
          : fmt::format("expected inputs without it, as --images {}:{}", path, choice_text(others));
  throw InputError(fmt::format("'{}': {} is among the inputs and among the {}, {}", path,
                               text_of(*shared, given->names), answer_name, expected));
}

}  // namespace quern

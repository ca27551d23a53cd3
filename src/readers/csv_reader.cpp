// SPDX-License-Identifier: Apache-2.0
#include "readers/csv_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "readers/csv_fields.hpp"
#include "readers/text_lines.hpp"

namespace quern {

namespace {

// Between marks: few enough to go through, and so many that marks take no memory.
constexpr std::int64_t kLinesOfMark = 1024;

constexpr std::size_t kShownBytes = 40;  // of a field, in messages

constexpr const char* kNumberClasses =
    " (number the classes from 0 on; a file with a name in each line, for --class-names, keeps "
    "what "
    "they are called)";

/// Nothing for what is no number, or too large. What is too small for a float becomes the nearest
/// that there is, a denormal or 0, as in NumPy.
template <class T>
std::optional<T> number_of(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (end != field.data() + field.size()) return std::nullopt;
  if (error == std::errc()) return value;
  if constexpr (std::is_same_v<T, float>) {
    if (error != std::errc::result_out_of_range) return std::nullopt;
    value = std::strtof(std::string(field).c_str(), nullptr);
    if (std::isfinite(value)) return value;
  }
  return std::nullopt;
}

/// Whether it is written as a number, also as one that is too large or too small for ours.
bool is_number(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error != std::errc::invalid_argument && end == field.data() + field.size();
}

/// Of a line that was not cut: several numbers with spaces between them, as numpy.savetxt writes.
bool are_spaced_numbers(std::string_view line) {
  int numbers = 0;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    if (end > begin) {
      if (!is_number(line.substr(begin, end - begin))) return false;
      ++numbers;
    }
    begin = end + 1;
  }
  return numbers > 1;
}

struct FirstLine {
  char separator = ',';
  LineFields fields;
  bool has_names = false;

  std::vector<std::string> names() const {
    if (!has_names) return {};
    return {fields.texts.begin(), fields.texts.end()};
  }
};

[[noreturn]] void fail_mixed(const ByteStream& stream, const FirstLine& line, std::size_t word,
                             std::size_t number) {
  stream.fail(
      fmt::format("'{}' in line 1, column {}, beside the number '{}' in column {}, expected "
                  "numbers alone, or names alone above the numbers",
                  printable_start(line.fields.texts[word], kShownBytes), word + 1,
                  printable_start(line.fields.texts[number], kShownBytes), number + 1));
}

/// Names, or numbers as in all other lines. What has both is refused: it may be a sample that lacks
/// a number, which would be lost if it were taken as names.
FirstLine read_first_line(const ByteStream& stream, TextLines& lines) {
  const std::optional<std::string_view> line = lines.next();
  if (!line || trimmed(*line).empty()) stream.fail("empty, expected a table of numbers");
  FirstLine first;
  first.separator = separator_of(*line);
  split(stream, *line, lines.number(), first.separator, first.fields);
  const auto begin = first.fields.texts.begin();
  const auto end = first.fields.texts.end();
  const auto number = std::find_if(begin, end, is_number);
  const auto word = std::find_if_not(begin, end, is_number);
  first.has_names = number == end;
  if (first.fields.texts.size() == 1 && are_spaced_numbers(first.fields.texts[0])) {
    stream.fail(
        "the numbers of line 1 are separated by spaces, expected commas, semicolons or tabs "
        "(numpy.savetxt: delimiter=\",\")");
  }
  if (number != end && word != end) {
    fail_mixed(stream, first, static_cast<std::size_t>(word - begin),
               static_cast<std::size_t>(number - begin));
  }
  // One name may be empty, as that of an index often is, but not all.
  if (std::all_of(begin, end, [](std::string_view field) { return field.empty(); })) {
    stream.fail("line 1 has empty fields alone, expected numbers or names");
  }
  return first;
}

/// The columns that a user names, from 0.
class ColumnChoice {
 public:
  ColumnChoice(const ByteStream& stream, std::vector<std::string> names, std::size_t count)
      : stream_(stream), names_(std::move(names)), count_(count) {}

  std::vector<std::size_t> parse(const std::string& columns) const {
    std::vector<std::size_t> chosen;
    if (columns.empty()) {
      for (std::size_t i = 0; i < count_; ++i) chosen.push_back(i);
    }
    // A name may have a comma, and then stands alone.
    if (!columns.empty() && std::find(names_.begin(), names_.end(), columns) != names_.end()) {
      add(columns, chosen);
      return chosen;
    }
    for (std::size_t begin = 0; begin < columns.size();) {
      const std::size_t end = std::min(columns.find(',', begin), columns.size());
      add(columns.substr(begin, end - begin), chosen);
      begin = end + 1;
    }
    return chosen;
  }

 private:
  void add(const std::string& word, std::vector<std::size_t>& chosen) const {
    const auto name = std::find(names_.begin(), names_.end(), word);
    if (name != names_.end()) {
      if (std::find(name + 1, names_.end(), word) != names_.end())
        stream_.fail(fmt::format("several columns are called '{}', expected the number of one",
                                 printable(word)));
      chosen.push_back(static_cast<std::size_t>(name - names_.begin()));
      return;
    }
    const std::size_t dash = word.find('-');
    const auto first = number_of<std::size_t>(std::string_view(word).substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : number_of<std::size_t>(word.substr(dash + 1));
    if (!first || !last || *first < 1 || *last < *first || *last > count_) {
      fail_range(word);
      stream_.fail(fmt::format(
          "no column '{}', expected numbers from 1 to {}{}", printable(word), count_,
          names_.empty()
              ? ""
              : " or names (" + printable(fmt::format("{}", fmt::join(names_, ", "))) + ")"));
    }
    for (std::size_t i = *first; i <= *last; ++i) chosen.push_back(i - 1);
  }

  /// Where the word is a range whose ends there are: of names, or one that runs backwards.
  void fail_range(const std::string& word) const {
    for (std::size_t dash = word.find('-'); dash != std::string::npos;
         dash = word.find('-', dash + 1)) {  // names may have dashes
      const std::size_t first = number_of_column(word.substr(0, dash));
      const std::size_t last = number_of_column(word.substr(dash + 1));
      if (first == 0 || last == 0) continue;
      stream_.fail(fmt::format(
          "no column '{}': a range is of numbers and runs upwards, expected {}", printable(word),
          fmt::format("{}-{}", std::min(first, last), std::max(first, last))));
    }
  }

  /// From 1, of a name or a number; 0 where there is no such column, or several.
  std::size_t number_of_column(const std::string& word) const {
    const auto name = std::ranges::find(names_, word);
    if (name != names_.end())
      return std::ranges::count(names_, word) == 1
                 ? static_cast<std::size_t>(name - names_.begin()) + 1
                 : 0;
    const std::size_t number = number_of<std::size_t>(word).value_or(0);
    return number <= count_ ? number : 0;
  }

  const ByteStream& stream_;
  std::vector<std::string> names_;
  std::size_t count_;
};

template <class T>
class TableReader {
 public:
  TableReader(const ByteStream& stream, TextLines& lines, const char* expected)
      : stream_(stream), lines_(lines), expected_(expected) {}

  void read(const std::string& columns) {
    LineFields fields = read_first(columns);
    if (!has_names_) take(fields);
    while (const std::optional<std::string_view> line = lines_.next()) {
      if (trimmed(*line).empty()) {
        expect_nothing_more();
        break;
      }
      take_line(*line, fields);
    }
    if (values.empty()) fail_without_numbers();
  }

  /// Some of the lines only.
  void read(const std::string& columns, const TableLines& all, const ChooseRange& choose) {
    LineFields fields = read_first(columns);
    const std::int64_t names = has_names_ ? 1 : 0;
    if (all.count <= names) fail_without_numbers();
    const SampleRange range = choose(all.count - names);
    const std::int64_t first = names + range.first;
    const std::int64_t mark = first / kLinesOfMark;
    if (range.count == 0) return;
    lines_.go_to(mark * kLinesOfMark, all.marks[static_cast<std::size_t>(mark)]);
    values.reserve(static_cast<std::size_t>(range.count) * chosen_.size());
    while (lines_.number() < first + range.count) {
      const std::optional<std::string_view> line = lines_.next();
      if (!line) stream_.fail("ends earlier than before: it was changed while it was read");
      if (lines_.number() <= first) continue;
      if (trimmed(*line).empty()) fail_empty(lines_.number());
      take_line(*line, fields);
    }
  }

  std::size_t columns() const { return chosen_.size(); }

  std::vector<std::string> names() const {
    std::vector<std::string> chosen;
    if (!has_names_) return chosen;
    for (const std::size_t column : chosen_) chosen.push_back(column_name(names_, column));
    return chosen;
  }

  std::vector<T> values;
  ColumnSums sums;  ///< of all numbers as they are written; none of integers

 private:
  LineFields read_first(const std::string& columns) {
    FirstLine first = read_first_line(stream_, lines_);
    separator_ = first.separator;
    count_ = first.fields.texts.size();
    has_names_ = first.has_names;
    names_ = first.names();
    chosen_ = ColumnChoice(stream_, names_, count_).parse(columns);
    check_names();
    if constexpr (std::is_floating_point_v<T>) sums.resize(chosen_.size());
    return std::move(first.fields);
  }

  /// What is stored of a name ends at its first zero byte.
  void check_names() const {
    if (!has_names_) return;
    for (const std::size_t column : chosen_) {
      const std::size_t at = names_[column].find('\0');
      if (at == std::string::npos) continue;
      stream_.fail(
          fmt::format("'{}' in line 1, column {}: byte {} of the name is 0, expected text in UTF-8 "
                      "(a file in UTF-16 has such bytes throughout)",
                      printable_start(names_[column], kShownBytes), column + 1, at + 1));
    }
  }

  void take_line(std::string_view line, LineFields& fields) {
    split(stream_, line, lines_.number(), separator_, fields);
    if (fields.texts.size() != count_) {
      stream_.fail(fmt::format("line {} has {} fields, expected {} as the first line",
                               lines_.number(), fields.texts.size(), count_));
    }
    take(fields);
  }

  void take(const LineFields& fields) {
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      const std::size_t column = chosen_[i];
      const std::optional<T> value = number_of<T>(fields.texts[column]);
      if (!value) {
        const bool is_numeric = is_number(fields.texts[column]);
        const bool is_too_large = std::is_same_v<T, float> && is_numeric;
        const bool is_class_name = std::is_integral_v<T> && !is_numeric;
        stream_.fail(fmt::format("'{}' in line {}, column {}, expected {}{}",
                                 printable_start(fields.texts[column], kShownBytes),
                                 lines_.number(), column + 1,
                                 is_too_large ? "a number that float32 can hold" : expected_,
                                 is_class_name ? kNumberClasses : ""));
      }
      values.push_back(*value);
      if constexpr (std::is_floating_point_v<T>)
        sums[i].add(number_of<double>(fields.texts[column]).value_or(*value));
    }
  }

  void expect_nothing_more() {
    const std::int64_t empty = lines_.number();
    while (const std::optional<std::string_view> line = lines_.next()) {
      if (!trimmed(*line).empty()) fail_empty(empty);
    }
  }

  [[noreturn]] void fail_empty(std::int64_t line) const {
    stream_.fail(fmt::format("line {} is empty", line));
  }
  [[noreturn]] void fail_without_numbers() const {
    stream_.fail("a line of names without numbers below it");
  }

  const ByteStream& stream_;
  TextLines& lines_;
  const char* expected_;
  char separator_ = ',';
  std::size_t count_ = 0;  // fields of a line
  bool has_names_ = false;
  std::vector<std::string> names_;  // of all columns
  std::vector<std::size_t> chosen_;
};

template <class T>
Array read_as(NumberType type, const ByteStream& stream, const std::string& columns,
              const TableLines* some, const ChooseRange& choose) {
  TextLines lines(stream);
  TableReader<T> reader(stream, lines, type == NumberType::integer ? "a whole number" : "a number");
  if (some)
    reader.read(columns, *some, choose);
  else
    reader.read(columns);
  const auto width = static_cast<std::int64_t>(reader.columns());
  Array array;
  array.name = stream.name;
  array.type = type;
  array.shape = {std::ssize(reader.values) / width, width};
  array.values = std::move(reader.values);
  array.sums = std::move(reader.sums);
  array.column_names = reader.names();
  return array;
}

Array read_table(const ByteStream& stream, const std::string& columns, bool are_labels,
                 const TableLines* some, const ChooseRange& choose) {
  if (are_labels) return read_as<std::int64_t>(NumberType::integer, stream, columns, some, choose);
  return read_as<float>(NumberType::floating, stream, columns, some, choose);
}

}  // namespace

std::string column_name(const std::vector<std::string>& names, std::size_t column) {
  return names[column].empty() ? fmt::format("column {}", column + 1) : as_utf8(names[column]);
}

TableColumns find_columns(const ByteStream& stream, const std::string& columns) {
  TextLines lines(stream);
  const FirstLine first = read_first_line(stream, lines);
  const ColumnChoice choice(stream, first.names(), first.fields.texts.size());
  return {first.names(), choice.parse(columns)};
}

Array read_csv(const ByteStream& stream, const std::string& columns, bool are_labels) {
  return read_table(stream, columns, are_labels, nullptr, {});
}

TableLines find_lines(const ByteStream& stream) {
  TextLines lines(stream);
  TableLines all;
  for (;;) {
    const std::uint64_t offset = lines.offset();
    const std::optional<std::string_view> line = lines.next();
    if (!line) return all;
    if ((lines.number() - 1) % kLinesOfMark == 0) all.marks.push_back(offset);
    if (!trimmed(*line).empty()) all.count = lines.number();
  }
}

Array read_csv(const ByteStream& stream, const std::string& columns, bool are_labels,
               const TableLines& lines, const ChooseRange& choose) {
  return read_table(stream, columns, are_labels, &lines, choose);
}

}  // namespace quern

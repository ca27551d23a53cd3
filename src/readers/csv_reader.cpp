// SPDX-License-Identifier: Apache-2.0
#include "readers/csv_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace quern {

namespace {

constexpr std::size_t kMaxLine = std::size_t{1} << 26;

/// Lines without their end; memory grows with what is really there.
class Lines {
 public:
  explicit Lines(const ByteStream& stream) : stream_(stream) {}

  std::optional<std::string_view> next() {
    for (;;) {
      const std::size_t end = text_.find('\n', scanned_);
      if (end != std::string::npos) return take(end, end + 1);
      scanned_ = text_.size();
      if (text_.size() - begin_ > kMaxLine) {
        stream_.fail(fmt::format("line {} is longer than {} bytes", number_ + 1, kMaxLine));
      }
      if (!refill()) break;
    }
    if (begin_ == text_.size()) return std::nullopt;
    return take(text_.size(), text_.size());
  }
  std::int64_t number() const { return number_; }

 private:
  std::string_view take(std::size_t end, std::size_t next) {
    std::string_view line(text_.data() + begin_, end - begin_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin_ = scanned_ = next;
    ++number_;
    return line;
  }

  bool refill() {
    text_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
    const std::size_t kept = text_.size();
    text_.resize(kept + (std::size_t{1} << 20));
    const std::size_t got =
        stream_.read({reinterpret_cast<std::uint8_t*>(text_.data()) + kept, text_.size() - kept});
    text_.resize(kept + got);
    return got > 0;
  }

  const ByteStream& stream_;
  std::string text_;
  std::size_t begin_ = 0;    // of the line to come
  std::size_t scanned_ = 0;  // there is no end of a line before it
  std::int64_t number_ = 0;
};

std::string_view trimmed(std::string_view field) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!field.empty() && is_space(field.front())) field.remove_prefix(1);
  while (!field.empty() && is_space(field.back())) field.remove_suffix(1);
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
    field = field.substr(1, field.size() - 2);
  }
  return field;
}

char separator_of(std::string_view line) {
  for (const char separator : {'\t', ';', ','}) {
    if (line.find(separator) != std::string_view::npos) return separator;
  }
  return ',';
}

void split(std::string_view line, char separator, std::vector<std::string_view>& fields) {
  fields.clear();
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    fields.push_back(trimmed(line.substr(begin, end - begin)));
    if (end == line.size()) return;
    begin = end + 1;
  }
}

template <class T>
std::optional<T> number_of(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return value;
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
      chosen.push_back(static_cast<std::size_t>(name - names_.begin()));
      return;
    }
    const std::size_t dash = word.find('-');
    const auto first = number_of<std::size_t>(std::string_view(word).substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : number_of<std::size_t>(word.substr(dash + 1));
    if (!first || !last || *first < 1 || *last < *first || *last > count_) {
      stream_.fail(fmt::format(
          "no column '{}', expected numbers from 1 to {}{}", word, count_,
          names_.empty() ? "" : fmt::format(" or names ({})", fmt::join(names_, ", "))));
    }
    for (std::size_t i = *first; i <= *last; ++i) chosen.push_back(i - 1);
  }

  const ByteStream& stream_;
  std::vector<std::string> names_;
  std::size_t count_;
};

template <class T>
class TableReader {
 public:
  TableReader(const ByteStream& stream, Lines& lines, const char* expected)
      : stream_(stream), lines_(lines), expected_(expected) {}

  void read(const std::string& columns) {
    const std::optional<std::string_view> first = lines_.next();
    if (!first || trimmed(*first).empty()) stream_.fail("empty, expected a table of numbers");
    const char separator = separator_of(*first);
    std::vector<std::string_view> fields;
    split(*first, separator, fields);
    const std::size_t count = fields.size();
    const bool has_names = std::any_of(fields.begin(), fields.end(), [](std::string_view field) {
      return !number_of<double>(field);
    });
    std::vector<std::string> names;
    if (has_names) names.assign(fields.begin(), fields.end());
    chosen_ = ColumnChoice(stream_, names, count).parse(columns);
    if (!has_names) take(fields);
    while (const std::optional<std::string_view> line = lines_.next()) {
      if (trimmed(*line).empty()) {
        expect_nothing_more();
        break;
      }
      split(*line, separator, fields);
      if (fields.size() != count) {
        stream_.fail(fmt::format("line {} has {} fields, expected {} as the first line",
                                 lines_.number(), fields.size(), count));
      }
      take(fields);
    }
    if (values.empty()) stream_.fail("a line of names without numbers below it");
  }

  std::size_t columns() const { return chosen_.size(); }

  std::vector<T> values;

 private:
  void take(const std::vector<std::string_view>& fields) {
    for (const std::size_t column : chosen_) {
      const std::optional<T> value = number_of<T>(fields[column]);
      if (!value) {
        stream_.fail(fmt::format("'{}' in line {}, column {}, expected {}",
                                 fields[column].substr(0, 40), lines_.number(), column + 1,
                                 expected_));
      }
      values.push_back(*value);
    }
  }

  void expect_nothing_more() {
    const std::int64_t empty = lines_.number();
    while (const std::optional<std::string_view> line = lines_.next()) {
      if (!trimmed(*line).empty()) stream_.fail(fmt::format("line {} is empty", empty));
    }
  }

  const ByteStream& stream_;
  Lines& lines_;
  const char* expected_;
  std::vector<std::size_t> chosen_;
};

}  // namespace

Array read_csv(const ByteStream& stream, const std::string& columns, bool are_labels) {
  Lines lines(stream);
  Array array;
  array.name = stream.name;
  std::size_t width = 0;
  std::size_t size = 0;
  if (are_labels) {
    TableReader<std::int64_t> reader(stream, lines, "a whole number");
    reader.read(columns);
    width = reader.columns();
    size = reader.values.size();
    array.type = NumberType::integer;
    array.values = std::move(reader.values);
  } else {
    TableReader<float> reader(stream, lines, "a number");
    reader.read(columns);
    width = reader.columns();
    size = reader.values.size();
    array.type = NumberType::floating;
    array.values = std::move(reader.values);
  }
  array.shape = {static_cast<std::int64_t>(size / width), static_cast<std::int64_t>(width)};
  return array;
}

}  // namespace quern

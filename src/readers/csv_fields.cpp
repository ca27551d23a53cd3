// SPDX-License-Identifier: Apache-2.0
#include "readers/csv_fields.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quern {

namespace {

bool is_separator(char c) {
  return c == ',' || c == ';' || c == '\t';
}

// The end of the quoted text that begins at `begin`, behind its last quote. Doubled quotes are part
// of the text. npos: it has no end.
std::size_t end_of_quoted(std::string_view line, std::size_t begin) {
  for (std::size_t at = line.find('"', begin + 1); at < line.size(); at = line.find('"', at + 2)) {
    if (at + 1 == line.size() || line[at + 1] != '"') return at + 1;
  }
  return std::string_view::npos;
}

std::string_view without_doubled_quotes(std::string_view text, LineFields& fields) {
  if (text.find('"') == std::string_view::npos) return text;
  std::string& single = fields.unquoted.emplace_back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    single += text[i];
    if (text[i] == '"') ++i;
  }
  return single;
}

// Of a line in which there are quotes: RFC 4180, but a text ends in the line in which it begins,
// and blanks around the quotes are left out. A quote inside of a field without is a character.
void split_quoted(const ByteStream& stream, std::string_view line, std::int64_t number,
                  char separator, LineFields& fields) {
  fields.unquoted.clear();
  for (std::size_t begin = 0;;) {
    const std::size_t first =
        std::min(line.find_first_not_of(separator == '\t' ? " " : " \t", begin), line.size());
    const bool is_quoted = first < line.size() && line[first] == '"';
    const std::size_t behind = is_quoted ? end_of_quoted(line, first) : begin;
    const auto fail = [&](const char* what) {
      stream.fail(fmt::format("line {}, column {}: {}", number, fields.texts.size() + 1, what));
    };
    if (behind == std::string_view::npos)
      fail("a quote without an end, expected it in the same line");
    const std::size_t end = std::min(line.find(separator, behind), line.size());
    if (!is_quoted) {
      fields.texts.push_back(trimmed(line.substr(begin, end - begin)));
    } else {
      if (!trimmed(line.substr(behind, end - behind)).empty())
        fail("text behind a quote, expected a separator (a quote inside of quotes is doubled)");
      fields.texts.push_back(
          without_doubled_quotes(line.substr(first + 1, behind - first - 2), fields));
    }
    if (end == line.size()) return;
    begin = end + 1;
  }
}

}  // namespace

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
  std::string found;
  bool at_start = true;  // of a field: where a quote is more than a character
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (at_start && line[i] == '"') {
      i = std::min(end_of_quoted(line, i), line.size()) - 1;
      at_start = false;
    } else if (is_separator(line[i])) {
      found += line[i];
      at_start = true;
    } else if (line[i] != ' ') {
      at_start = false;
    }
  }
  for (const char separator : {'\t', ';', ','}) {
    if (found.find(separator) != std::string::npos) return separator;
  }
  return ',';
}

void split(const ByteStream& stream, std::string_view line, std::int64_t number, char separator,
           LineFields& fields) {
  fields.texts.clear();
  if (line.find('"') != std::string_view::npos)
    return split_quoted(stream, line, number, separator, fields);
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(line.find(separator, begin), line.size());
    fields.texts.push_back(trimmed(line.substr(begin, end - begin)));
    if (end == line.size()) return;
    begin = end + 1;
  }
}

}  // namespace quern

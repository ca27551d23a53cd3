// SPDX-License-Identifier: Apache-2.0
#include "config/document.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/toml_text.hpp"

namespace quern {

namespace {

constexpr int kMaxKeyParts = 16;

[[noreturn]] void fail_syntax(std::string_view source_name, std::size_t line, std::size_t column,
                              std::string_view description) {
  throw InputError(std::string(source_name) + ":" + std::to_string(line) + ":" +
                   std::to_string(column) + ": " + std::string(description));
}

/// Length of the string that starts at text[0], a quote; an unterminated one ends at its line.
std::size_t string_length(std::string_view text) {
  const char quote = text[0];
  const std::string_view fence = quote == '"' ? "\"\"\"" : "'''";
  const bool multi_line = text.substr(0, 3) == fence;
  for (std::size_t i = multi_line ? 3 : 1; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (multi_line && text.substr(i, 3) == fence) {
      std::size_t end = i + 3;  // the text may end in one or two quotes of its own
      while (end < i + 5 && end < text.size() && text[end] == quote) ++end;
      return end;
    } else if (!multi_line && (text[i] == quote || text[i] == '\n')) {
      return text[i] == quote ? i + 1 : i;
    }
  }
  return text.size();
}

/// toml++ limits the depth of brackets but not that of dotted keys, and its trees are freed by
/// recursion: a key of 100000 parts would overflow the stack. So such keys are refused up front.
void check_key_depth(std::string_view text, std::string_view source_name) {
  std::size_t line = 1;
  int dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const std::size_t length = string_length(text.substr(i));
      for (const char inside : text.substr(i, length)) line += inside == '\n' ? 1 : 0;
      i += length - 1;
    } else if (c == '#') {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (c == '\n' || c == '=' || c == ',' || c == '[' || c == ']' || c == '{' || c == '}') {
      line += c == '\n' ? 1 : 0;
      dots = 0;
    } else if (c == '.' && ++dots >= kMaxKeyParts) {
      fail_syntax(source_name, line, 1,
                  "a key of more than " + std::to_string(kMaxKeyParts) + " dotted parts");
    }
  }
}

/// The library's words do not name what is wrong most often: {type = adam}, True.
std::string syntax_hint(std::string_view description) {
  if (description.find("could not determine value type") != std::string_view::npos)
    return " (strings need quotes)";
  if (description.find("while parsing boolean") != std::string_view::npos)
    return " (strings need quotes; true and false are written in small letters)";
  return "";
}

std::string shown(const std::string& text) {
  constexpr std::size_t kMost = 40;
  return "'" + printable_start(text, kMost) + "'";
}

}  // namespace

toml::table parse_document(std::string_view text, std::string_view source_name) {
  check_key_depth(text, source_name);
  try {
    return toml::parse(text, source_name);
  } catch (const toml::parse_error& error) {
    constexpr std::size_t kMaxDescription = 300;
    const std::string_view description = error.description();
    fail_syntax(source_name, error.source().begin.line, error.source().begin.column,
                printable_start(description, kMaxDescription) + syntax_hint(description));
  }
}

Place place_of(const toml::node& node) {
  const toml::source_region& source = node.source();
  if (!source.path || *source.path == kSetOption) return {0, kSetOption};
  if (*source.path == kChangeOption) return {0, kChangeOption};
  return {static_cast<int>(source.begin.line)};
}

std::string describe_type(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      // What an option could not read as anything else: a number written in another way, perhaps.
      return place_of(node).option.empty() ? "a string"
                                           : "the string " + shown(node.as_string()->get());
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::date:
      return "a date";
    case toml::node_type::time:
      return "a time";
    case toml::node_type::date_time:
      return "a date-time";
    case toml::node_type::none:
      break;
  }
  return "nothing";
}

}  // namespace quern

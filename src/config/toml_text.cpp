// SPDX-License-Identifier: Apache-2.0
#include "config/toml_text.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <system_error>
#include <utility>

namespace quern {

namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

std::string escape(char c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto code = static_cast<unsigned char>(c);
  return std::string("\\u00") + kDigits[code >> 4] + kDigits[code & 15];
}

}  // namespace

std::string to_toml_text(bool value) {
  return value ? "true" : "false";
}

std::string to_toml_text(std::int64_t value) {
  return std::to_string(value);
}

std::string to_toml_text(double value) {
  std::array<char, 40> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), result.ptr);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string to_toml_text(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (is_control(c)) {
      text += escape(c);
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string to_toml_text(const std::vector<std::string>& values) {
  std::vector<std::string> texts;
  for (const std::string& value : values) texts.push_back(to_toml_text(std::string_view(value)));
  return "[" + join(texts, ", ") + "]";
}

std::string size_text(std::int64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; unit + 1 < std::size(units) && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return std::to_string(bytes) + " " + units[unit];
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  constexpr std::pair<const char*, double> kUnits[] = {
      {"B", 1},    {"KB", 1e3},       {"KiB", 1024.0}, {"MB", 1e6},      {"MiB", 1048576.0},
      {"GB", 1e9}, {"GiB", 0x1.0p30}, {"TB", 1e12},    {"TiB", 0x1.0p40}};
  constexpr double kMost = 0x1.0p62;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  std::string unit(rest, end);
  unit.erase(0, unit.find_first_not_of(' '));
  for (const auto& [name, bytes] : kUnits) {
    if (unit == name && number * bytes >= 1 && number * bytes <= kMost)
      return static_cast<std::int64_t>(number * bytes);
  }
  return std::nullopt;
}

std::string join(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += (i > 0 ? separator : "") + words[i];
  return text;
}

std::string list_choices(const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += i + 1 == values.size() ? " or " : ", ";
    text += to_toml_text(std::string_view(values[i]));
  }
  return text;
}

}  // namespace quern

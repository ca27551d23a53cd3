// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace quern {

namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Bytes of a character of UTF-8 by its first one; 0: none begins so.
std::size_t announced_bytes(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

// Bytes of the character of UTF-8 at the start; 0: there is none.
std::size_t character_bytes(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  const std::size_t count = announced_bytes(first);
  if (count <= 1) return count;
  if (count > text.size()) return 0;
  for (std::size_t i = 1; i < count; ++i)
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  // Written longer than it has to be, half of a pair of UTF-16, or beyond the last character.
  const unsigned char second = byte_at(text, 1);
  const bool is_none = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return is_none ? 0 : count;
}

// Those of ASCII, and U+0080 to U+009F, which some terminals act upon as well.
bool is_control(std::string_view character) {
  const unsigned char first = byte_at(character, 0);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && byte_at(character, 1) < 0xa0;
}

std::string escape(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned char byte = byte_at(bytes, i);
    text += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
  }
  return text;
}

// Characters that are not to `stay`, and bytes that are no UTF-8, as \x1b.
template <class Stays>
std::string escaped(std::string_view text, std::size_t most, const Stays& stays) {
  std::string shown;
  while (!text.empty()) {
    if (shown.size() >= most) return shown + "...";
    const std::size_t count = character_bytes(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(count, 1));
    shown += count > 0 && stays(character) ? std::string(character) : escape(character);
    text.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace

std::string join_lines(const std::vector<std::string>& texts) {
  std::string lines;
  for (std::size_t i = 0; i < texts.size(); ++i) lines += (i > 0 ? "\n" : "") + texts[i];
  return lines;
}

std::vector<std::string> split_lines(const std::string& lines) {
  std::vector<std::string> texts;
  std::istringstream stream(lines);
  for (std::string text; std::getline(stream, text);) texts.push_back(text);
  return texts;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t count = character_bytes(text);
    if (count == 0) return false;
    text.remove_prefix(count);
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  return escaped(text, std::string_view::npos, [](std::string_view) { return true; });
}

std::string printable(std::string_view text) {
  return printable_start(text, std::string_view::npos);
}

std::string printable_start(std::string_view text, std::size_t most) {
  return escaped(text, most, [](std::string_view character) { return !is_control(character); });
}

std::string printable_lines(std::string_view text) {
  return escaped(text, std::string_view::npos, [](std::string_view character) {
    return character == "\n" || !is_control(character);
  });
}

std::string decimal_text(double value, int digits) {
  const double size = std::fabs(value);
  const bool is_plain = size == 0 || (size >= std::pow(10.0, 1 - digits) && size < 1e9);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), is_plain ? "%.*f" : "%.*e",
                is_plain ? digits : digits - 1, value);
  return text.data();
}

}  // namespace quern

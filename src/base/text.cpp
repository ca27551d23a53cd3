// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace quern {

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

}  // namespace quern

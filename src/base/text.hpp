// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quern {

/// Texts without line breaks as one, and back: a line for each. No texts are "".
std::string join_lines(const std::vector<std::string>& texts);
std::vector<std::string> split_lines(const std::string& lines);

/// The letters of ASCII in lower case.
std::string lower_case(std::string text);

}  // namespace quern

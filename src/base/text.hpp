// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// Texts without line breaks as one, and back: a line for each. No texts are "".
std::string join_lines(const std::vector<std::string>& texts);
std::vector<std::string> split_lines(const std::string& lines);

/// The letters of ASCII in lower case.
std::string lower_case(std::string text);

bool is_utf8(std::string_view text);
/// Text of others fit for files and formats that hold UTF-8: bytes that are none as \xe9.
std::string as_utf8(std::string_view text);

/// Text of others fit for a message: a terminal acts upon none of it, and a log stays text. Control
/// characters and bytes that are no UTF-8 as \x1b.
std::string printable(std::string_view text);
/// At most about so many bytes of it, and "..." for the rest.
std::string printable_start(std::string_view text, std::size_t most = 60);
/// The same of a message whose lines are to stay.
std::string printable_lines(std::string_view text);

/// "0.0317", with so many digits behind the point; with a power of ten where that would show one
/// digit or none, "4.213e-05", or ten and more in front of the point.
std::string decimal_text(double value, int digits);

}  // namespace quern

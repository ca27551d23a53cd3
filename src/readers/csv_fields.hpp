// SPDX-License-Identifier: Apache-2.0
// Private to readers/: the fields of one line of a table.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "readers/byte_stream.hpp"

namespace quern {

/// Without blanks around it, and without quotes around what is between them.
std::string_view trimmed(std::string_view field);

/// The first of tab, semicolon and comma that stands outside of quotes; a comma where none does.
char separator_of(std::string_view line);

/// Those of a line, until the next one.
struct LineFields {
  std::vector<std::string_view> texts;
  std::deque<std::string> unquoted;  ///< of texts that have doubled quotes
};

/// Quotes are those of RFC 4180, but a text ends in the line in which it begins, and blanks around
/// the quotes are left out. InputError, with the number of the line, where a quote has no end, or
/// text follows it.
void split(const ByteStream& stream, std::string_view line, std::int64_t number, char separator,
           LineFields& fields);

}  // namespace quern

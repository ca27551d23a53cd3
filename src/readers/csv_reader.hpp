// SPDX-License-Identifier: Apache-2.0
// Tables of numbers: a line a sample, fields separated by commas, semicolons or tabs, perhaps with
// a line of names at the top. The first line is names where none of its fields is a number ("1st"
// is none, "nan" is one), and a sample where all are. Quotes are those of RFC 4180, inside of one
// line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "readers/array.hpp"
#include "readers/byte_stream.hpp"

namespace quern {

/// `columns`: names or numbers from 1, separated by commas; "2-5" are four of them; "" means all.
/// Floats [n, columns], or where `are_labels` integers [n] of one column. InputError with line and
/// column where a line has more or fewer fields than the first, a field is empty or no number, a
/// quote has no end, the first line has both numbers and other fields, or there is no such column.
Array read_csv(const ByteStream& stream, const std::string& columns, bool are_labels);

/// Columns of a table, as a user has named some of them.
struct TableColumns {
  std::vector<std::string> names;   ///< of all; empty where the table has no line of names
  std::vector<std::size_t> chosen;  ///< from 0
};

/// What a column is called, in UTF-8: by its number from 1 ("column 3") where it has no name.
std::string column_name(const std::vector<std::string>& names, std::size_t column);

/// `columns` as above. Reads the first line alone; InputError as above.
TableColumns find_columns(const ByteStream& stream, const std::string& columns);

/// Where the lines of a table are.
struct TableLines {
  std::int64_t count = 0;            ///< up to the last one that is not empty
  std::vector<std::uint64_t> marks;  ///< bytes before every 1024th line, from the first one on
};

/// Goes through the table without reading its numbers. InputError as of TextLines.
TableLines find_lines(const ByteStream& stream);

/// As above, of some samples alone; `lines`: of this table. Lines of other samples are left out,
/// and nobody finds what is wrong with them. The stream is not read to its end.
Array read_csv(const ByteStream& stream, const std::string& columns, bool are_labels,
               const TableLines& lines, const ChooseRange& choose);

}  // namespace quern

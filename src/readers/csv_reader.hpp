// SPDX-License-Identifier: Apache-2.0
// Tables of numbers: a line a sample, fields separated by commas, semicolons or tabs, perhaps with
// a line of names at the top.
#pragma once

#include <string>

#include "readers/array.hpp"
#include "readers/byte_stream.hpp"

namespace quern {

/// `columns`: names or numbers from 1, separated by commas; "2-5" are four of them; "" means all.
/// Floats [n, columns], or where `are_labels` integers [n] of one column. InputError with line and
/// column where a line has more or fewer fields than the first, a field is empty or no number, or
/// there is no such column.
Array read_csv(const ByteStream& stream, const std::string& columns, bool are_labels);

}  // namespace quern

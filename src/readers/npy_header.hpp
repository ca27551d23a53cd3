// SPDX-License-Identifier: Apache-2.0
// The header of an .npy file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quern {

struct NpyHeader {
  std::string descr;  ///< "<f4"
  bool is_fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" with spaces around it.
/// Nothing unless it is just that: these three keys once each, in any order, and extents below
/// 2^63.
std::optional<NpyHeader> parse_npy_header(const std::string& text);

/// What an .npy file of version 1.0 begins with; the elements follow.
std::string start_of_npy(const NpyHeader& header);

}  // namespace quern

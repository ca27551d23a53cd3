// SPDX-License-Identifier: Apache-2.0
// Columns of a table by the names that a network's features had in training.
#pragma once

#include <string>
#include <vector>

#include "readers/sample_file.hpp"

namespace quern {

/// The path of the source, with the numbers of the columns of these names behind it where it is a
/// table that has each of them once, in another order or beside others. Else as it is: so where the
/// source names columns itself.
std::string path_with_columns(const SampleSource& source, const std::vector<std::string>& names);

}  // namespace quern

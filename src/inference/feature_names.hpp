// SPDX-License-Identifier: Apache-2.0
// The names of a table's columns: do two sets of samples have the same in the same order?
#pragma once

#include <string>
#include <vector>

namespace quern {

/// A sentence where both sets have names for their features and these differ, else "". `where`:
/// "the test data".
std::string feature_difference(const std::vector<std::string>& trained,
                               const std::vector<std::string>& found, const std::string& where);

/// InputError where there is such a difference.
void check_feature_names(const std::vector<std::string>& trained,
                         const std::vector<std::string>& found, const std::string& where);

}  // namespace quern

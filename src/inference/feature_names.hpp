// SPDX-License-Identifier: Apache-2.0
// The names of a table's columns: do two sets of samples have the same in the same order?
#pragma once

#include <string>
#include <vector>

namespace quern {

/// InputError where both sets have names for their features and these differ. `where`: "the test
/// data".
void check_feature_names(const std::vector<std::string>& trained,
                         const std::vector<std::string>& found, const std::string& where);

}  // namespace quern

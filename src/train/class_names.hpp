// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quern {

/// InputError where both sets have names for their classes and a label does not mean the same in
/// both. `where`: "the test data".
void check_class_names(const std::vector<std::string>& trained,
                       const std::vector<std::string>& found, const std::string& where);

}  // namespace quern

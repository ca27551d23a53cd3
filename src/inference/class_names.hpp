// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quern {

/// "class 3 is 'cat' in ONE and 'dog' in OTHER"; empty where no label means two things, or one of
/// the sets has no names for its classes.
std::string class_difference(const std::vector<std::string>& names, const std::string& one,
                             const std::vector<std::string>& others, const std::string& other);

/// InputError where both sets have names for their classes and a label does not mean the same in
/// both. `where`: "the test data".
void check_class_names(const std::vector<std::string>& trained,
                       const std::vector<std::string>& found, const std::string& where);

/// Where a test set has more classes than the `trained` ones: a sentence about the others. `where`:
/// "the test data".
std::string unknown_classes_text(int trained, int found, const std::string& where);

}  // namespace quern

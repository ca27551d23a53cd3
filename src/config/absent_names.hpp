// SPDX-License-Identifier: Apache-2.0
// Names of other programs that stand for nothing in recipes, and what there is instead.
#pragma once

#include <string_view>

namespace quern {

/// Of a key in a table ("parallel.", "" for the recipe), in brackets behind "unknown key"; "" where
/// nothing is known of the name. Upper and lower case count as equal, and '_' does not count.
std::string_view instead_of_key(std::string_view table, std::string_view name);

/// The same of a value of a key that has names to choose from.
std::string_view instead_of_value(std::string_view value);

}  // namespace quern

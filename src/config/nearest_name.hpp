// SPDX-License-Identifier: Apache-2.0
// "did you mean": the known name that a misspelt one probably stands for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// Letters to insert, delete, replace or swap with a neighbour to turn `a` into `b`; upper and
/// lower case count as equal (optimal string alignment distance).
int edit_distance(std::string_view a, std::string_view b);

/// The name nearest to `name`, or "" when none differs in at most a third of its letters.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

/// "(did you mean 'channels'?)", or "(known: a, b, c)" when nothing is near; of many names the
/// first.
std::string suggest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace quern

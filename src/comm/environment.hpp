// SPDX-License-Identifier: Apache-2.0
// Variables of the environment, or those that a test has in its place.
#pragma once

#include <functional>
#include <optional>

namespace quern {

/// Looks up one variable: nullptr when unset. An empty one stands for the process environment.
using EnvironmentLookup = std::function<const char*(const char* name)>;

/// The variable's text: nullptr when unset.
const char* environment_text(const EnvironmentLookup& lookup, const char* name);

/// The variable as a whole number: nothing when unset, below `least`, or no such number.
std::optional<int> environment_number(const EnvironmentLookup& lookup, const char* name,
                                      int least = 0);

}  // namespace quern

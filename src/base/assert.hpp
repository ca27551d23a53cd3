// SPDX-License-Identifier: Apache-2.0
// Programmer errors. User input is never checked with these: throw InputError instead.
#pragma once

#include <source_location>

namespace quern {

/// Throws Error with the location unless `condition`: for preconditions of public functions.
void expect(bool condition, const char* what,
            std::source_location where = std::source_location::current());

}  // namespace quern

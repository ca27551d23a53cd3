// SPDX-License-Identifier: Apache-2.0
// Programmer errors. User input is never checked with these: throw InputError instead.
#pragma once

namespace quern {

/// Throws Error with the caller's place unless `condition`: for preconditions of public functions.
/// The builtins are what std::source_location is made of, which Clang before 16 lacks.
void expect(bool condition, const char* what, const char* file = __builtin_FILE(),
            int line = __builtin_LINE(), const char* function = __builtin_FUNCTION());

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// A disk, a file server or a limit that fails while a file is read. The file may be whole: unlike
// one that is missing, forbidden or damaged it may be read later, so a job is worth another start.
#pragma once

#include <string>

#include "base/error.hpp"

namespace quern {

/// Exit status 1. Never a reason to take a file for a damaged one.
class SystemFailure : public Error {
 public:
  explicit SystemFailure(const std::string& message) : Error(message) {}
};

/// Does this value of errno tell of such a failure?
bool is_system_failure(int error);

/// Throws SystemFailure, "WHAT: what the system says", if so.
void throw_system_failure(int error, const std::string& what);

/// Throws SystemFailure if so, else InputError, with the same text. 0: the reason is not known.
[[noreturn]] void throw_read_failure(int error, const std::string& what);

/// The same with UnusableError.
[[noreturn]] void throw_unusable(int error, const std::string& what);

}  // namespace quern

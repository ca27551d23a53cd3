// SPDX-License-Identifier: Apache-2.0
// Exceptions that carry the exit status. Message grammar: what is wrong, where (file, key, line),
// (what was expected), and a hint where one helps.
#pragma once

#include <stdexcept>
#include <string>

#include "base/exit_code.hpp"

namespace quern {

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ExitCode code = ExitCode::failure)
      : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Bad usage, recipe or input file: exit status 2.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message) : Error(message, ExitCode::bad_input) {}
};

/// Training diverged, or data or checkpoint cannot be used: exit status 93, never requeued.
class UnusableError : public Error {
 public:
  explicit UnusableError(const std::string& message) : Error(message, ExitCode::do_not_requeue) {}
};

}  // namespace quern

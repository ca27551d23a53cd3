// SPDX-License-Identifier: Apache-2.0
#include "base/assert.hpp"

#include <string>

#include "base/error.hpp"

namespace quern {

void expect(bool condition, const char* what, std::source_location where) {
  if (condition) return;
  throw Error(std::string("internal error: expected ") + what + " (" + where.file_name() + ":" +
              std::to_string(where.line()) + ", " + where.function_name() + ")");
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "base/assert.hpp"

#include <string>

#include "base/error.hpp"

namespace quern {

void expect(bool condition, const char* what, const char* file, int line, const char* function) {
  if (condition) return;
  throw Error(std::string("internal error: expected ") + what + " (" + file + ":" +
              std::to_string(line) + ", " + function + ")");
}

}  // namespace quern

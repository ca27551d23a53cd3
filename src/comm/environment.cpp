// SPDX-License-Identifier: Apache-2.0
#include "comm/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace quern {

const char* environment_text(const EnvironmentLookup& lookup, const char* name) {
  return lookup ? lookup(name) : std::getenv(name);
}

std::optional<int> environment_number(const EnvironmentLookup& lookup, const char* name,
                                      int least) {
  const char* text = environment_text(lookup, name);
  if (!text) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || rest != end || value < least) return std::nullopt;
  return value;
}

}  // namespace quern

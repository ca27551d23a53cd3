// SPDX-License-Identifier: Apache-2.0
#include "base/bytes_text.hpp"

#include <array>
#include <cstdio>

namespace quern {

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr double kStep = 1024;
  double value = static_cast<double>(bytes) / kStep;
  const char* unit = "KiB";
  for (const char* larger : {"MiB", "GiB"}) {
    if (value < kStep) break;
    value /= kStep;
    unit = larger;
  }
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, unit);
  return text.data();
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "base/unit_text.hpp"

#include <array>
#include <cstdio>

namespace quern {

namespace {

std::string with_unit(double value, int decimals, const char* unit) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, unit);
  return text.data();
}

// Three digits, whatever the size of the number.
std::string three_digits(double value, const char* unit) {
  return with_unit(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr double kStep = 1024;
  double value = static_cast<double>(bytes) / kStep;
  const char* unit = "KiB";
  for (const char* larger : {"MiB", "GiB"}) {
    if (value < 1023.95) break;  // which is rounded to 1024.0
    value /= kStep;
    unit = larger;
  }
  return with_unit(value, 1, unit);
}

std::string grouped_text(std::int64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t from_end = 3; from_end < text.size(); from_end += 4)
    text.insert(text.size() - from_end, " ");
  return text;
}

std::string scaled_text(double value) {
  if (value < 999.5) return with_unit(value, 0, "");
  const char* unit = "";
  for (const char* larger : {"k", "M", "G", "T"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = larger;
  }
  return three_digits(value, unit);
}

std::string rate_text(double bytes_per_s) {
  if (bytes_per_s < 999.5e3) return three_digits(bytes_per_s * 1e-3, "kB/s");
  if (bytes_per_s < 999.5e6) return three_digits(bytes_per_s * 1e-6, "MB/s");
  return three_digits(bytes_per_s * 1e-9, "GB/s");
}

std::string time_text(double seconds) {
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6, "us");
  if (seconds < 999.5e-3) return three_digits(seconds * 1e3, "ms");
  return three_digits(seconds, "s");
}

}  // namespace quern

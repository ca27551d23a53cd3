// SPDX-License-Identifier: Apache-2.0
// Numbers with their units, for people.
#pragma once

#include <cstdint>
#include <string>

namespace quern {

/// A size in bytes: "512 B", "1.5 KiB", "64.0 MiB", "2.0 GiB".
std::string bytes_text(std::int64_t bytes);

/// A count in groups of three digits: "25 557 032".
std::string grouped_text(std::int64_t count);

/// Three digits in powers of 1000, for a unit to follow: "4.09 M", "999 ".
std::string scaled_text(double value);

/// "12.3 GB/s", "52.1 MB/s": three digits, in powers of 1000.
std::string rate_text(double bytes_per_s);

/// "1.50 us", "23.4 ms", "1.20 s": three digits.
std::string time_text(double seconds);

}  // namespace quern

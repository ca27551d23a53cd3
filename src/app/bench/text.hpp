// SPDX-License-Identifier: Apache-2.0
// What the tables of all benchmarks share.
#pragma once

#include <cstdint>
#include <string>

#include "app/bench/machine_facts.hpp"

namespace quern {

/// Two lines: what it ran on, and the peaks.
std::string machine_text(const MachineFacts& machine);

/// "1.50 us", "23.4 ms", "1.20 s": three digits.
std::string time_text(double seconds);
/// "4 KB", "1.5 MB", in powers of 1024.
std::string bytes_text(double bytes);
/// "12.3 GB/s", in powers of 1000.
std::string rate_text(double bytes_per_s);
/// "2 ranks"
std::string count_text(std::int64_t count, const std::string& noun);

}  // namespace quern

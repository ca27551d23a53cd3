// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace quern {

/// A size in bytes for people: "512 B", "1.5 KiB", "64.0 MiB", "2.0 GiB".
std::string bytes_text(std::int64_t bytes);

}  // namespace quern

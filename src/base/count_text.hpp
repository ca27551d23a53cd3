// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace quern {

/// "1 rank", "2 ranks", "3 classes": for nouns that take an s, or es behind an s.
inline std::string count_text(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

}  // namespace quern

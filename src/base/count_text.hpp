// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace quern {

/// "1 rank", "2 ranks", "3 classes": for nouns that take an s, or es behind s and tch.
inline std::string count_text(std::int64_t count, const std::string& noun) {
  const bool takes_es = noun.ends_with('s') || noun.ends_with("tch");
  const std::string ending = takes_es ? "es" : "s";
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : ending);
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// The recipes' words for values of enumerations. A word stands in one place, the enumeration's
// to_string(): a switch without default, so that the compiler names a value that has none.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "spec/network_spec.hpp"
#include "spec/training_spec.hpp"

namespace quern {

/// Every value with its word, in the order in which the values are declared. Its to_string() is
/// null for what is no value.
template <class Enum>
std::vector<std::pair<std::string, Enum>> words_of() {
  std::vector<std::pair<std::string, Enum>> words;
  for (int number = 0; const char* word = to_string(static_cast<Enum>(number)); ++number)
    words.emplace_back(word, static_cast<Enum>(number));
  return words;
}

}  // namespace quern

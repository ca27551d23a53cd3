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

// Null for what is no value.
const char* to_string(LayerType type);
const char* to_string(LossType type);
const char* to_string(OptimizerType type);
const char* to_string(ScheduleType type);
const char* to_string(Precision precision);
const char* to_string(Monitor monitor);

/// Every value with its word, in the order in which the values are declared.
template <class Enum>
std::vector<std::pair<std::string, Enum>> words_of() {
  std::vector<std::pair<std::string, Enum>> words;
  for (int number = 0; const char* word = to_string(static_cast<Enum>(number)); ++number)
    words.emplace_back(word, static_cast<Enum>(number));
  return words;
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "inference/class_names.hpp"

#include <cstddef>

#include "base/error.hpp"
#include "base/text.hpp"

namespace quern {

namespace {

std::string quoted_name(const std::vector<std::string>& names, std::size_t label) {
  return label < names.size() ? "'" + printable(names[label]) + "'" : "none";
}

}  // namespace

std::string class_difference(const std::vector<std::string>& names, const std::string& one,
                             const std::vector<std::string>& others, const std::string& other) {
  if (names.empty() || others.empty() || names == others) return "";
  std::size_t label = 0;
  while (label < names.size() && label < others.size() && names[label] == others[label]) ++label;
  return "class " + std::to_string(label) + " is " + quoted_name(names, label) + " in " + one +
         " and " + quoted_name(others, label) + " in " + other;
}

std::string unknown_classes_text(int trained, int found, const std::string& where) {
  const std::string first = std::to_string(trained);
  const std::string last = std::to_string(found - 1);
  return where + " has " + std::to_string(found) + " classes, and the training data " + first +
         ": no training sample is of class " + (first == last ? first : first + " to " + last);
}

void check_class_names(const std::vector<std::string>& trained,
                       const std::vector<std::string>& found, const std::string& where) {
  const std::string difference = class_difference(trained, "the training data", found, where);
  if (difference.empty()) return;
  throw InputError("the classes of the two sets differ: " + difference +
                   " (expected the same names in both; of images, the folder of a class may be "
                   "empty)");
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "train/class_names.hpp"

#include <cstddef>

#include "base/error.hpp"

namespace quern {

namespace {

std::string quoted_name(const std::vector<std::string>& names, std::size_t label) {
  return label < names.size() ? "'" + names[label] + "'" : "none";
}

}  // namespace

void check_class_names(const std::vector<std::string>& trained,
                       const std::vector<std::string>& found, const std::string& where) {
  if (trained.empty() || found.empty() || trained == found) return;
  std::size_t label = 0;
  while (quoted_name(trained, label) == quoted_name(found, label)) ++label;
  throw InputError("the classes of the two sets differ: class " + std::to_string(label) + " is " +
                   quoted_name(trained, label) + " in the training data and " +
                   quoted_name(found, label) + " in " + where +
                   " (expected the same names in both; of pictures, the folder of a class may be "
                   "empty)");
}

}  // namespace quern

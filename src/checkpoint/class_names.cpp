// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/class_names.hpp"

#include "base/text.hpp"

namespace quern {

namespace {

constexpr const char* kGroup = "/train";
constexpr const char* kAttribute = "class_names";

}  // namespace

void write_class_names(H5File& file, const std::vector<std::string>& names) {
  if (!names.empty()) file.write_string(kGroup, kAttribute, join_lines(names));
}

std::vector<std::string> read_class_names(const H5File& file) {
  if (!file.has_attribute(kGroup, kAttribute)) return {};
  // Earlier programs took those of shards as they were, in any encoding.
  return split_lines(as_utf8(file.read_string(kGroup, kAttribute)));
}

}  // namespace quern

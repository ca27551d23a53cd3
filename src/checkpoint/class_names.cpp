// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/class_names.hpp"

#include <sstream>

#include "base/error.hpp"

namespace quern {

namespace {

constexpr const char* kGroup = "/train";
constexpr const char* kAttribute = "class_names";

}  // namespace

void write_class_names(H5File& file, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::string lines;
  for (const std::string& name : names) lines += (lines.empty() ? "" : "\n") + name;
  file.write_string(kGroup, kAttribute, lines);
}

std::vector<std::string> read_class_names(const std::filesystem::path& path) {
  std::vector<std::string> names;
  try {
    const H5File file = H5File::open_read(path);
    if (!file.has_attribute(kGroup, kAttribute)) return names;
    std::istringstream lines(file.read_string(kGroup, kAttribute));
    for (std::string name; std::getline(lines, name);) names.push_back(name);
  } catch (const Error&) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) throw;
  }
  return names;
}

}  // namespace quern

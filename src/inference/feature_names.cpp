// SPDX-License-Identifier: Apache-2.0
#include "inference/feature_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

#include "base/error.hpp"
#include "base/text.hpp"

namespace quern {

namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShownBytes = 200;
  return printable_start(fmt::format("'{}'", fmt::join(names, "', '")), kShownBytes);
}

}  // namespace

std::string feature_difference(const std::vector<std::string>& trained,
                               const std::vector<std::string>& found, const std::string& where) {
  if (trained.empty() || found.empty() || trained == found) return "";
  const auto lost =
      std::ranges::find_if_not(trained, [&](const std::string& name) { return has(found, name); });
  if (lost != trained.end()) {
    return fmt::format("number {} of the training data, '{}', is not in {}, which has {}",
                       lost - trained.begin() + 1, printable(*lost), where, list_of(found));
  }
  const std::size_t first =
      static_cast<std::size_t>(std::ranges::mismatch(trained, found).in1 - trained.begin());
  const auto name = [&](const std::vector<std::string>& names) {
    return first < names.size() ? "'" + printable(names[first]) + "'" : std::string("none");
  };
  return fmt::format("number {} is {} in the training data and {} in {}", first + 1, name(trained),
                     name(found), where);
}

void check_feature_names(const std::vector<std::string>& trained,
                         const std::vector<std::string>& found, const std::string& where) {
  const std::string difference = feature_difference(trained, found, where);
  if (difference.empty()) return;
  throw InputError("the features of the two sets differ: " + difference +
                   " (expected the same columns in the same order)");
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "config/nearest_name.hpp"

#include <algorithm>
#include <cstdlib>

#include "config/toml_text.hpp"

namespace quern {

namespace {

/// Names longer than this are not misspelt, they are something else.
constexpr std::size_t kMaxLength = 64;
/// More names than a reader looks through.
constexpr std::size_t kMaxListed = 24;

char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<int> before_last(width), last(width), row(width);
  for (std::size_t j = 0; j < width; ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j < width; ++j) {
      const bool same = to_lower(a[i - 1]) == to_lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) &&
                           to_lower(a[i - 2]) == to_lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[width - 1];
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  if (name.size() > kMaxLength) return "";
  std::string best;
  int best_distance = 0;
  for (const std::string& candidate : known) {
    const int distance = edit_distance(name, candidate);
    const int allowed = static_cast<int>(std::max(name.size(), candidate.size()) / 3);
    if (distance <= allowed && (best.empty() || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggest_name(std::string_view name, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(name, known);
  if (!nearest.empty()) return "(did you mean '" + nearest + "'?)";
  if (known.size() <= kMaxListed) return "(known: " + join(known, ", ") + ")";
  const std::vector<std::string> first(known.begin(), known.begin() + kMaxListed);
  return "(known: " + join(first, ", ") + " and " + std::to_string(known.size() - kMaxListed) +
         " more)";
}

}  // namespace quern

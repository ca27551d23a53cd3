// SPDX-License-Identifier: Apache-2.0
#include "config/problems.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace quern {

namespace {
constexpr std::size_t kMaxReported = 30;
}

void Problems::add(const Place& place, const std::string& key, const std::string& text) {
  std::string message = place.option.empty() ? source_name_ : std::string(place.option);
  if (place.option.empty() && has_lines_ && place.line > 0)
    message += ":" + std::to_string(place.line);
  message += ": ";
  if (!key.empty()) message += key + ": ";
  entries_.push_back({.place = place, .message = message + text});
  // A bad number in a list is a problem of the list.
  const bool is_element = key.ends_with(']');
  keys_.insert(is_element ? key.substr(0, key.rfind('[')) : key);
}

void Problems::add_choice(const Place& place, const std::string& key, const std::string& text,
                          const std::string& list, const std::string& hint) {
  add(place, key, text);
  entries_.back().list = list;
  entries_.back().hint = hint;
}

bool Problems::concerns(const std::string& key) const {
  for (std::size_t end = key.size(); end != std::string::npos && end > 0;
       end = key.rfind('.', end - 1)) {
    if (keys_.count(key.substr(0, end)) > 0) return true;
  }
  return false;
}

void Problems::throw_if_any() const {
  if (entries_.empty()) return;
  std::vector<Entry> sorted = entries_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) {
    const bool is_option = !b.place.option.empty();
    if (a.place.option.empty() == is_option) return is_option;
    return a.place.line < b.place.line;
  });
  std::string text;
  std::set<std::string> shown;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMaxReported); ++i) {
    const Entry& entry = sorted[i];
    text += (i > 0 ? "\n" : "") + entry.message;
    if (!entry.list.empty() && shown.insert(entry.list).second) text += ", expected " + entry.list;
    text += entry.hint;
  }
  if (sorted.size() > kMaxReported) {
    text += "\n... and " + std::to_string(sorted.size() - kMaxReported) + " more problems";
  }
  throw InputError(text);
}

}  // namespace quern

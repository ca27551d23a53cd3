// SPDX-License-Identifier: Apache-2.0
// Everything that is wrong with a recipe, collected so that the user sees all of it at once.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// Where a key stands: a line of the recipe, 0 when it stands nowhere, or an option.
struct Place {
  int line = 0;
  std::string_view option = {};  ///< "--set" or "--change"; "" for the recipe itself
};

class Problems {
 public:
  /// `source_name` is what messages call the recipe, usually its path. `has_lines`: that the user
  /// can look at.
  explicit Problems(std::string source_name, bool has_lines = true)
      : source_name_(std::move(source_name)), has_lines_(has_lines) {}

  /// "<source>:<line>: <key>: <text>", or "--set: <key>: <text>".
  void add(const Place& place, const std::string& key, const std::string& text);

  /// The same, of a value that is none of a list: ", expected LIST" follows the text, and the hint
  /// that. Of several problems with one list the first shows it.
  void add_choice(const Place& place, const std::string& key, const std::string& text,
                  const std::string& list, const std::string& hint);

  /// From now on the key counts as one with a problem: a misspelling of it has been reported.
  void excuse(const std::string& key) { keys_.insert(key); }

  /// Has a problem been found with this key or a table around it? Then what follows from it is not
  /// reported.
  bool concerns(const std::string& key) const;

  /// Throws one InputError with a line per problem, in the order of the file.
  void throw_if_any() const;

 private:
  struct Entry {
    Place place;
    std::string message;
    std::string list = {};
    std::string hint = {};
  };
  std::string source_name_;
  bool has_lines_;
  std::vector<Entry> entries_;
  std::set<std::string> keys_;
};

}  // namespace quern

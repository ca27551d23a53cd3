// SPDX-License-Identifier: Apache-2.0
// Reads a TOML table by a list of keys.
#pragma once

#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "config/absent_names.hpp"
#include "config/document.hpp"
#include "config/key.hpp"
#include "config/nearest_name.hpp"
#include "config/other_names.hpp"
#include "config/toml_text.hpp"

namespace quern {

template <class Target>
class TableReader {
 public:
  /// `where` is put before the keys in messages: "network.layers[2]", "" for a whole recipe.
  TableReader(const std::vector<Key<Target>>& keys, Target& target, Problems& problems,
              std::string where = "")
      : keys_(keys), target_(target), problems_(problems), where_(std::move(where)) {}

  /// Fills the target with what the table states, and reports unknown keys, bad values, missing
  /// keys and keys that do not apply. May be called once.
  void read(const toml::table& table) {
    table_place_ = place_of(table);
    read_table(table, "");
    for (const Unknown& unknown : unknown_) report(unknown);
    for (const Key<Target>& key : keys_) check_presence(key);
  }

  /// Where the recipe states this key or table, if it does.
  std::optional<Place> place_of_key(const std::string& path) const {
    const auto found = places_.find(path);
    if (found == places_.end()) return std::nullopt;
    return found->second;
  }

 private:
  /// What a key is depends on the type that the table states, maybe behind it.
  struct Unknown {
    std::string name;
    const toml::node* node;
    std::string prefix;
  };

  std::string full_name(const std::string& path) const {
    return where_.empty() ? path : where_ + "." + path;
  }

  const Key<Target>* find(const std::string& path) const {
    const auto found = std::find_if(keys_.begin(), keys_.end(),
                                    [&](const Key<Target>& key) { return key.path == path; });
    return found == keys_.end() ? nullptr : &*found;
  }

  /// The names directly in the table `prefix` ("" or "optimizer."), tables and values alike.
  std::vector<std::string> names_in(const std::string& prefix, bool only_applying) const {
    std::vector<std::string> names;
    for (const Key<Target>& key : keys_) {
      if (key.path.compare(0, prefix.size(), prefix) != 0) continue;
      if (only_applying && !applies(key, keys_, target_)) continue;
      const std::size_t end = key.path.find('.', prefix.size());
      const std::string name = key.path.substr(prefix.size(), end - prefix.size());
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
  }

  void read_table(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) read_entry(std::string(name.str()), node, prefix);
  }

  void read_entry(const std::string& name, const toml::node& node, const std::string& prefix) {
    const std::string path = prefix + name;
    if (name.find('.') != std::string::npos) return unknown_.push_back({name, &node, prefix});
    if (const Key<Target>* key = find(path)) return read_key(*key, node);
    if (names_in(path + ".", false).empty()) return unknown_.push_back({name, &node, prefix});
    places_[path] = place_of(node);
    const Key<Target>* type_key = find(path + ".type");
    if (node.is_table()) {
      read_table(*node.as_table(), path + ".");
    } else if (type_key != nullptr && node.is_string()) {
      read_key(*type_key, node);  // init = "normal" is short for init = {type = "normal"}
    } else {
      problems_.add(place_of(node), full_name(path),
                    "found " + describe_type(node) + ", expected " +
                        (type_key ? type_key->expected + ", or a table with such a type"
                                  : std::string("a table")));
    }
  }

  void read_key(const Key<Target>& key, const toml::node& node) {
    places_[key.path] = place_of(node);
    key.read(node, {full_name(key.path), place_of(node), problems_}, target_);
  }

  /// Is this a list of keys of which each type has some, and the type not known?
  bool lacks_type() const {
    return is_entry() && (!place_of_key("type") || problems_.concerns(full_name("type")));
  }

  /// A layer or block, not a whole recipe.
  bool is_entry() const { return !where_.empty(); }

  void report(const Unknown& unknown) {
    const auto& [name, node, prefix] = unknown;
    const std::vector<std::string> known = names_in(prefix, is_entry() && !lacks_type());
    const std::string nearest = nearest_name(name, known);
    std::string hint = nearest.empty() && lacks_type() ? "" : suggest_name(name, known);
    if (const std::string_view instead = instead_of_key(prefix, name); !instead.empty()) {
      hint = "(" + std::string(instead) + ")";
    } else if (!nearest.empty()) {
      problems_.excuse(full_name(prefix + nearest));
    } else if (const std::string elsewhere = path_of_name(name); !elsewhere.empty()) {
      hint = "(did you mean '" + elsewhere + "'?)";
    } else if (const std::vector<std::string> meant = meant_paths(name); !meant.empty()) {
      for (const std::string& path : meant) problems_.excuse(full_name(path));
      hint = "(did you mean '" + join(meant, "' or '") + "'?)";
    }
    problems_.add(place_of(*node), full_name(prefix + printable_start(name)),
                  "unknown key" + (hint.empty() ? "" : " " + hint));
  }

  /// The key of this name in any table, "" when there is none.
  std::string path_of_name(const std::string& name) const {
    for (const Key<Target>& key : keys_) {
      if (key.path.substr(key.path.rfind('.') + 1) == name) return key.path;
    }
    return "";
  }

  /// What a name of another program may be here.
  std::vector<std::string> meant_paths(const std::string& name) const {
    std::vector<std::string> paths;
    for (const std::string_view path : keys_meant_by(name)) {
      const std::string meant(path);
      const Key<Target>* key = find(meant);
      if (key && is_entry() && !lacks_type() && !applies(*key, keys_, target_)) continue;
      if (key || !names_in(meant + ".", false).empty()) paths.push_back(meant);
    }
    return paths;
  }

  void check_presence(const Key<Target>& key) {
    if (problems_.concerns(full_name(key.path))) return;
    if (!key.selector.empty() && problems_.concerns(full_name(key.selector))) return;
    const bool is_applying = applies(key, keys_, target_);
    const std::optional<Place> place = place_of_key(key.path);
    if (!place && key.is_required && is_applying) {
      problems_.add(place_of_table(key.path), full_name(key.path),
                    "missing, expected " + key.expected);
    }
    if (place && !is_applying) {
      const std::string prefix = key.path.substr(0, key.path.rfind('.') + 1);
      const std::vector<std::string> known = names_in(prefix, true);
      problems_.add(
          *place, full_name(key.path),
          "applies only to " + key.selector + " = " + list_choices(key.selecting_values) +
              "; here it is " + find_key(keys_, key.selector).write(target_) +
              (known.empty() ? ", expected no such key" : " (known: " + join(known, ", ") + ")"));
    }
  }

  /// Where a missing key would stand: its table, if that exists.
  Place place_of_table(const std::string& path) const {
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return where_.empty() ? Place{} : table_place_;
    return place_of_key(path.substr(0, dot)).value_or(Place{});
  }

  const std::vector<Key<Target>>& keys_;
  Target& target_;
  Problems& problems_;
  std::string where_;
  Place table_place_;
  std::map<std::string, Place> places_;
  std::vector<Unknown> unknown_;
};

}  // namespace quern

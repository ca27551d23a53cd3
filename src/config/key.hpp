// SPDX-License-Identifier: Apache-2.0
// The declaration of one key: reading, writing, checking, suggesting and documenting derive from
// it.
#pragma once

#include <toml++/toml.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/problems.hpp"

namespace quern {

/// What a key's reader is told about the value, and where it reports what is wrong with it.
struct ValueContext {
  std::string key;  ///< as the user knows it, "network.layers[2].kernel"
  Place place;
  Problems& problems;

  void fail(const std::string& text) const { problems.add(place, key, text); }
};

/// May a run that is resumed state another value than its checkpoint?
enum class MayChange { never, on_request, freely };

/// A key of a table that fills a Target (a Recipe or a LayerSpec).
template <class Target>
struct Key {
  std::string path;      ///< dotted, from the table that fills a Target: "optimizer.lr"
  std::string expected;  ///< what a value looks like: "number > 0"
  std::string meaning;   ///< one line for docs/recipe-keys.md

  /// Stores a good value in the target, reports a bad one.
  std::function<void(const toml::node&, const ValueContext&, Target&)> read;
  /// The target's value as TOML; "" when the recipe leaves the key out.
  std::function<std::string(const Target&)> write;

  bool is_required = false;
  /// The key applies only where `selector`, a choice key of the same Target, has one of these
  /// values.
  std::string selector;
  std::vector<std::string> selecting_values;
  MayChange may_change = MayChange::never;
  /// What the reference says instead of the default-constructed Target's value.
  std::string default_words;

  Key& required() { return is_required = true, *this; }
  Key& only_with(std::string key, std::vector<std::string> values) {
    selector = std::move(key);
    selecting_values = std::move(values);
    return *this;
  }
  Key& free_to_change() { return may_change = MayChange::freely, *this; }
  /// A resolved recipe does not state the key where it has this value.
  Key& left_out_when(const std::string& value) {
    write = [stated = write, value](const Target& target) {
      const std::string text = stated(target);
      return text == value ? std::string() : text;
    };
    return *this;
  }
  /// 0 means that the recipe does not state the key.
  Key& left_out_when_zero() { return left_out_when("0"); }
  Key& defaults_to(std::string words) { return default_words = std::move(words), *this; }
};

/// The key with this path; it must exist.
template <class Target>
const Key<Target>& find_key(const std::vector<Key<Target>>& keys, const std::string& path) {
  for (const Key<Target>& key : keys) {
    if (key.path == path) return key;
  }
  throw std::logic_error("no key " + path);
}

/// Does the key mean anything in this target, that is, does its selector have the right value?
template <class Target>
bool applies(const Key<Target>& key, const std::vector<Key<Target>>& keys, const Target& target) {
  if (key.selector.empty()) return true;
  const std::string value = find_key(keys, key.selector).write(target);
  for (const std::string& selecting : key.selecting_values) {
    if (value == '"' + selecting + '"') return true;
  }
  return false;
}

}  // namespace quern

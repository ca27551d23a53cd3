// SPDX-License-Identifier: Apache-2.0
#include "config/overrides.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/document.hpp"
#include "config/layer_list.hpp"
#include "config/nearest_name.hpp"
#include "config/toml_text.hpp"

namespace quern {

namespace {

constexpr std::size_t kMaxParts = 16;

struct OverrideError {
  std::string key;
  std::string text;
};

std::string trim(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// "network.layers[2].kernel" and "network.layers.2.kernel" are the same path.
std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.' || path[i] == '[') {
      parts.emplace_back();
    } else if (path[i] != ']') {
      parts.back() += path[i];
    }
  }
  const bool has_empty =
      std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
  if (has_empty || parts.size() > kMaxParts) {
    throw OverrideError{"", "'" + printable_start(path) +
                                "' is no key path, expected one such as " + "optimizer.lr"};
  }
  return parts;
}

/// A document whose only key is `value`.
toml::table parse_value(const std::string& key, const std::string& text, std::string_view option) {
  try {
    toml::table parsed = parse_document("value = " + text, option);
    if (parsed.size() == 1 && parsed.contains("value")) return parsed;
  } catch (const InputError&) {
    // Not TOML, so it is a string.
  }
  try {
    return parse_document("value = " + to_toml_text(std::string_view(text)), option);
  } catch (const InputError&) {
    throw OverrideError{key, "the value is not valid UTF-8, expected text"};
  }
}

std::size_t find_layer(const toml::array& layers, const std::string& part, const std::string& key) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error == std::errc() && end == part.data() + part.size()) {
    if (index < layers.size()) return index;
    throw OverrideError{key, "there is no entry " + part + ", expected a number below " +
                                 std::to_string(layers.size())};
  }
  const std::vector<std::string> names = layer_names(layers);
  const auto found = std::find(names.begin(), names.end(), part);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw OverrideError{key,
                      "unknown layer '" + printable_start(part) + "' " + suggest_name(part, names)};
}

/// Names of layers may have dots: puts the parts [first, end) of a path together that are the
/// longest name in `layers`.
void join_layer_name(const toml::array& layers, std::vector<std::string>& parts,
                     std::size_t first) {
  const std::vector<std::string> names = layer_names(layers);
  for (std::size_t end = parts.size(); end > first + 1; --end) {
    const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(first);
    const auto last = parts.begin() + static_cast<std::ptrdiff_t>(end);
    const std::string name = join({begin, last}, ".");
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    *begin = name;
    parts.erase(begin + 1, last);
    return;
  }
}

/// A table inside `parent`, made where there is none. A string is short for a table with a type.
toml::node& enter_table(toml::table& parent, const std::string& part) {
  toml::node* child = parent.get(part);
  if (child != nullptr && !child->is_string()) return *child;
  const std::string type = child == nullptr ? "" : child->value_or(std::string());
  const std::string text =
      child == nullptr ? "t = {}" : "t = {type = " + to_toml_text(std::string_view(type)) + "}";
  toml::table made = parse_document(text, kSetOption);
  parent.insert_or_assign(part, std::move(*made["t"].as_table()));
  return *parent.get(part);
}

toml::node& enter(toml::node& parent, const std::string& part, const std::string& parent_key) {
  if (parent.is_table()) return enter_table(*parent.as_table(), part);
  if (parent.is_array()) {
    toml::array& array = *parent.as_array();
    return array[find_layer(array, part, parent_key)];
  }
  throw OverrideError{parent_key, "is " + describe_type(parent) + ", it holds no key '" +
                                      printable_start(part) + "'"};
}

void assign(toml::node& parent, const std::string& part, const std::string& parent_key,
            toml::node& value) {
  value.visit([&](auto& concrete) {
    if (parent.is_table()) {
      parent.as_table()->insert_or_assign(part, std::move(concrete));
    } else if (parent.is_array()) {
      toml::array& array = *parent.as_array();
      const auto index = static_cast<std::ptrdiff_t>(find_layer(array, part, parent_key));
      array.replace(array.cbegin() + index, std::move(concrete));
    } else {
      throw OverrideError{parent_key, "is " + describe_type(parent) + ", it holds no key '" +
                                          printable_start(part) + "'"};
    }
  });
}

/// --set of one way to state the batch takes the place of the recipe's other way.
void replace_other_batch(toml::table& document, const std::string& key) {
  const std::string other = key == "data.global_batch"     ? "batch_per_rank"
                            : key == "data.batch_per_rank" ? "global_batch"
                                                           : "";
  if (other.empty()) return;
  toml::table* data = document["data"].as_table();
  const toml::node* stated = data == nullptr ? nullptr : data->get(other);
  if (stated != nullptr && place_of(*stated).option.empty()) data->erase(other);
}

struct Assignment {
  std::vector<std::string> path;
  std::string value;
};

Assignment split_assignment(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) {
    throw OverrideError{
        "", "'" + printable_start(assignment) + "' has no '=', expected key.path=value"};
  }
  return {split_path(trim(assignment.substr(0, equals))), trim(assignment.substr(equals + 1))};
}

void apply(toml::table& document, const std::string& assignment, std::string_view option) {
  auto [parts, text] = split_assignment(assignment);
  const std::string key = join(parts, ".");
  toml::table value = parse_value(key, text, option);
  toml::node* parent = &document;
  std::string parent_key;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parent->is_array()) join_layer_name(*parent->as_array(), parts, i);
    if (i + 1 == parts.size()) break;
    parent = &enter(*parent, parts[i], parent_key);
    parent_key += (i > 0 ? "." : "") + parts[i];
  }
  assign(*parent, parts.back(), parent_key, *value.get("value"));
  replace_other_batch(document, key);
}

}  // namespace

void apply_override(toml::table& document, const std::string& assignment, std::string_view option,
                    Problems& problems) {
  try {
    apply(document, assignment, option);
  } catch (const OverrideError& error) {
    problems.add({0, option}, error.key, error.text);
  }
}

std::string override_key(const std::string& assignment) {
  try {
    return join(split_assignment(assignment).path, ".");
  } catch (const OverrideError&) {
    return "";
  }
}

}  // namespace quern

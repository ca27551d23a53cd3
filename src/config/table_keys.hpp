// SPDX-License-Identifier: Apache-2.0
// Declares the keys of one table, member by member.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "config/key.hpp"
#include "config/range.hpp"
#include "config/toml_text.hpp"
#include "config/value_readers.hpp"

namespace quern {

/// Appends keys of the table `name` ("" for the top) to a list. `get` maps a (const) Target& to the
/// struct that the table fills.
template <class Target, class Get>
class TableKeys {
 public:
  using Table = std::remove_cvref_t<std::invoke_result_t<Get, Target&>>;

  TableKeys(std::vector<Key<Target>>& keys, const std::string& name, Get get)
      : keys_(keys), prefix_(name.empty() ? "" : name + "."), get_(get) {}

  template <class Int>
  Key<Target>& integer(const std::string& name, Int Table::*member, const Range& range,
                       const std::string& meaning) {
    // TOML has no integers above 2^63 - 1, so an unsigned seed cannot be larger either.
    constexpr std::int64_t kHighest =
        sizeof(Int) < sizeof(std::int64_t)
            ? static_cast<std::int64_t>(std::numeric_limits<Int>::max())
            : std::numeric_limits<std::int64_t>::max();
    Key<Target>& key = add(name, "integer " + range.words, meaning);
    key.read = [member, range, get = get_](const toml::node& node, const ValueContext& context,
                                           Target& target) {
      std::int64_t value = 0;
      if (!read_integer(node, context, range, kHighest, value)) return;
      get(target).*member = static_cast<Int>(value);
    };
    key.write = [member, get = get_](const Target& target) {
      return to_toml_text(static_cast<std::int64_t>(get(target).*member));
    };
    return key;
  }

  /// A size in bytes, "2 GiB"; 0 is not stated.
  Key<Target>& bytes(const std::string& name, std::int64_t Table::*member,
                     const std::string& meaning) {
    Key<Target>& key = add(name, "size: `\"2 GiB\"`", meaning);
    key.read = [member, get = get_](const toml::node& node, const ValueContext& context,
                                    Target& target) {
      std::int64_t value = 0;
      if (read_bytes(node, context, value)) get(target).*member = value;
    };
    key.write = [member, get = get_](const Target& target) {
      const std::int64_t value = get(target).*member;
      return value == 0 ? std::string() : to_toml_text(std::string_view(size_text(value)));
    };
    return key;
  }

  Key<Target>& number(const std::string& name, double Table::*member, const Range& range,
                      const std::string& meaning) {
    Key<Target>& key = add(name, "number " + range.words, meaning);
    key.read = [member, range, get = get_](const toml::node& node, const ValueContext& context,
                                           Target& target) {
      double value = 0;
      if (read_number(node, context, range, value)) get(target).*member = value;
    };
    key.write = [member, get = get_](const Target& target) {
      return to_toml_text(get(target).*member);
    };
    return key;
  }

  Key<Target>& boolean(const std::string& name, bool Table::*member, const std::string& meaning) {
    Key<Target>& key = add(name, "boolean", meaning);
    key.read = [member, get = get_](const toml::node& node, const ValueContext& context,
                                    Target& target) {
      bool value = false;
      if (read_boolean(node, context, value)) get(target).*member = value;
    };
    key.write = [member, get = get_](const Target& target) {
      return to_toml_text(get(target).*member);
    };
    return key;
  }

  Key<Target>& string(const std::string& name, std::string Table::*member,
                      const std::string& meaning, bool may_be_empty = false) {
    Key<Target>& key = add(name, "string", meaning);
    key.read = [member, may_be_empty, get = get_](const toml::node& node,
                                                  const ValueContext& context, Target& target) {
      std::string value;
      if (!read_string(node, context, value)) return;
      if (value.empty() && !may_be_empty) return context.fail("is empty, expected some text");
      get(target).*member = value;
    };
    key.write = [member, get = get_](const Target& target) {
      return to_toml_text(std::string_view(get(target).*member));
    };
    return key;
  }

  /// A string that stands for a value of an enumeration.
  template <class Enum>
  Key<Target>& choice(const std::string& name, Enum Table::*member,
                      const std::vector<std::pair<std::string, Enum>>& choices,
                      const std::string& meaning) {
    using Choice = std::pair<std::string, Enum>;
    std::vector<std::string> names;
    for (const auto& [word, value] : choices) names.push_back(word);
    Key<Target>& key = add(name, list_choices(names), meaning);
    key.read = [member, choices, names, get = get_](const toml::node& node,
                                                    const ValueContext& context, Target& target) {
      std::size_t index = 0;
      if (read_choice(node, context, names, index)) get(target).*member = choices[index].second;
    };
    key.write = [member, choices, names, path = key.path, get = get_](const Target& target) {
      const auto choice = std::ranges::find(choices, get(target).*member, &Choice::second);
      if (choice == choices.end())
        throw InputError("the recipe: " + path + ": a number that stands for nothing, expected " +
                         list_choices(names));
      return to_toml_text(std::string_view(choice->first));
    };
    return key;
  }

  /// An array of one or more numbers.
  Key<Target>& numbers(const std::string& name, std::vector<double> Table::*member,
                       const Range& range, const std::string& meaning) {
    Key<Target>& key = add(name, "array of numbers " + range.words, meaning);
    key.read = [member, range, get = get_](const toml::node& node, const ValueContext& context,
                                           Target& target) {
      std::vector<double> values;
      if (read_numbers(node, context, range, values)) get(target).*member = values;
    };
    key.write = [member, get = get_](const Target& target) {
      std::vector<std::string> texts;
      for (const double value : get(target).*member) texts.push_back(to_toml_text(value));
      return "[" + join(texts, ", ") + "]";
    };
    return key;
  }

  /// An array of 1 to `most` integers.
  Key<Target>& integers(const std::string& name, std::vector<int> Table::*member,
                        const Range& range, int most, const std::string& meaning) {
    Key<Target>& key =
        add(name, "array of 1 to " + std::to_string(most) + " integers " + range.words, meaning);
    key.read = [member, range, most, get = get_](const toml::node& node,
                                                 const ValueContext& context, Target& target) {
      std::vector<int> values;
      if (read_integers(node, context, range, most, values)) get(target).*member = values;
    };
    key.write = [member, get = get_](const Target& target) {
      std::vector<std::string> texts;
      for (const int value : get(target).*member)
        texts.push_back(to_toml_text(std::int64_t{value}));
      return "[" + join(texts, ", ") + "]";
    };
    return key;
  }

  /// An array of strings; empty is not stated.
  Key<Target>& strings(const std::string& name, std::vector<std::string> Table::*member,
                       const std::string& meaning) {
    Key<Target>& key = add(name, "array of strings", meaning);
    key.read = [member, get = get_](const toml::node& node, const ValueContext& context,
                                    Target& target) {
      read_strings(node, context, get(target).*member);
    };
    key.write = [member, get = get_](const Target& target) {
      const std::vector<std::string>& values = get(target).*member;
      return values.empty() ? std::string() : to_toml_text(values);
    };
    return key;
  }

  /// A key whose `read` and `write` the caller fills in.
  Key<Target>& add(const std::string& name, const std::string& expected,
                   const std::string& meaning) {
    Key<Target>& key = keys_.emplace_back();
    key.path = prefix_ + name;
    key.expected = expected;
    key.meaning = meaning;
    return key;
  }

 private:
  std::vector<Key<Target>>& keys_;
  std::string prefix_;
  Get get_;
};

}  // namespace quern

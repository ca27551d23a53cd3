// SPDX-License-Identifier: Apache-2.0
#include "config/value_readers.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "config/absent_names.hpp"
#include "config/document.hpp"
#include "config/nearest_name.hpp"
#include "config/other_names.hpp"
#include "config/toml_text.hpp"

namespace quern {

namespace {

std::string describe_size(const toml::node& node) {
  if (!node.is_array()) return describe_type(node);
  return "an array of " + std::to_string(node.as_array()->size()) + " entries";
}

/// What --set hands on as a string because it is an integer of more than 64 bits; else "".
std::string huge_integer(const toml::node& node) {
  if (!node.is_string() || place_of(node).option.empty()) return "";
  const std::string& text = node.as_string()->get();
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc::result_out_of_range && rest == end ? printable_start(text) : "";
}

/// The context of an array's entry.
ValueContext entry_of(const ValueContext& context, std::size_t index) {
  return {context.key + "[" + std::to_string(index) + "]", context.place, context.problems};
}

}  // namespace

void report_type(const toml::node& node, const ValueContext& context, const std::string& expected) {
  context.fail("found " + describe_type(node) + ", expected " + expected);
}

bool read_integer(const toml::node& node, const ValueContext& context, const Range& range,
                  std::int64_t highest, std::int64_t& value) {
  const std::string huge = huge_integer(node);
  if (!node.is_integer() && huge.empty()) {
    report_type(node, context, "an integer " + range.words);
    return false;
  }
  if (huge.empty()) value = node.as_integer()->get();
  const bool is_good =
      huge.empty() && range.contains(static_cast<double>(value)) && value <= highest;
  if (!is_good) {
    const bool is_above = huge.empty() ? value > highest : huge.front() != '-';
    const bool is_limit_named = range.high <= static_cast<double>(highest);
    const std::string limit =
        is_above && !is_limit_named ? " and at most " + std::to_string(highest) : "";
    context.fail((huge.empty() ? std::to_string(value) : huge) +
                 " is out of range, expected an integer " + range.words + limit);
  }
  return is_good;
}

bool read_number(const toml::node& node, const ValueContext& context, const Range& range,
                 double& value) {
  if (!node.is_number()) {
    report_type(node, context, "a number " + range.words);
    return false;
  }
  value = *node.value<double>();
  // Where no number is below 0, 0 often means something else: no clipping.
  if (range.low == 0 && !range.low_is_open && value > 0 && static_cast<float>(value) == 0) {
    context.fail(to_toml_text(value) + " is 0 as a 32-bit float, expected 0 or a larger number");
    return false;
  }
  const bool is_good = range.contains(value);
  if (!is_good) {
    context.fail(to_toml_text(value) + " is out of range, expected a number " + range.words +
                 " (as a 32-bit float)");
  }
  return is_good;
}

bool read_boolean(const toml::node& node, const ValueContext& context, bool& value) {
  if (!node.is_boolean()) {
    report_type(node, context, "true or false");
    return false;
  }
  value = node.as_boolean()->get();
  return true;
}

bool read_string(const toml::node& node, const ValueContext& context, std::string& value) {
  if (!node.is_string()) {
    report_type(node, context, "a string");
    return false;
  }
  value = node.as_string()->get();
  const bool is_good = std::none_of(value.begin(), value.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (!is_good) {
    context.fail("\"" + printable_start(value) +
                 "\" holds a control character, expected plain text");
  }
  return is_good;
}

bool read_strings(const toml::node& node, const ValueContext& context,
                  std::vector<std::string>& values) {
  const toml::array* array = node.as_array();
  if (array == nullptr) {
    report_type(node, context, "an array of strings");
    return false;
  }
  bool are_good = true;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const ValueContext entry = entry_of(context, i);
    std::string value;
    const bool is_string = read_string((*array)[i], entry, value);
    if (is_string && value.empty()) entry.fail("is empty, expected some text");
    are_good = are_good && is_string && !value.empty();
    values.push_back(std::move(value));
  }
  return are_good;
}

bool read_choice(const toml::node& node, const ValueContext& context,
                 const std::vector<std::string>& choices, std::size_t& index) {
  if (!node.is_string()) {
    report_type(node, context, list_choices(choices));
    return false;
  }
  const std::string& value = node.as_string()->get();
  const auto found = std::find(choices.begin(), choices.end(), value);
  index = static_cast<std::size_t>(found - choices.begin());
  if (found != choices.end()) return true;
  // Names of other programs first: "mae" is one, and only a letter away from "mse".
  std::string nearest;
  for (const std::string_view meant : values_meant_by(value)) {
    if (!nearest.empty()) break;
    if (std::find(choices.begin(), choices.end(), meant) != choices.end()) nearest = meant;
  }
  const std::string problem = "\"" + printable_start(value) + "\" is unknown";
  const std::string_view instead = nearest.empty() ? instead_of_value(value) : "";
  if (!instead.empty()) {
    context.fail(problem + ": " + std::string(instead));
    return false;
  }
  if (nearest.empty()) nearest = nearest_name(value, choices);
  const std::string hint = nearest.empty() ? "" : " (did you mean \"" + nearest + "\"?)";
  context.problems.add_choice(context.place, context.key, problem, list_choices(choices), hint);
  return false;
}

bool read_bytes(const toml::node& node, const ValueContext& context, std::int64_t& value) {
  std::string text;
  if (!node.is_string()) {
    report_type(node, context, std::string("a string: ") + kSizeWords);
    return false;
  }
  if (!read_string(node, context, text)) return false;
  if (const std::optional<std::int64_t> bytes = parse_size(text)) {
    value = *bytes;
    return true;
  }
  context.fail("\"" + printable_start(text) + "\" is no size, expected " + kSizeWords +
               ", at least 1 B");
  return false;
}

bool read_number_pair(const toml::node& node, const ValueContext& context, const Range& range,
                      double& first, double& second) {
  const toml::array* array = node.as_array();
  if (array == nullptr || array->size() != 2) {
    context.fail("found " + describe_size(node) + ", expected an array of two numbers " +
                 range.words);
    return false;
  }
  double values[2] = {};
  const bool first_is_good = read_number((*array)[0], entry_of(context, 0), range, values[0]);
  const bool second_is_good = read_number((*array)[1], entry_of(context, 1), range, values[1]);
  if (!first_is_good || !second_is_good) return false;
  first = values[0];
  second = values[1];
  return true;
}

bool read_numbers(const toml::node& node, const ValueContext& context, const Range& range,
                  std::vector<double>& values) {
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty()) {
    context.fail("found " + describe_size(node) + ", expected an array of numbers " + range.words);
    return false;
  }
  bool is_good = true;
  values.resize(array->size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    is_good = read_number((*array)[i], entry_of(context, i), range, values[i]) && is_good;
  }
  return is_good;
}

bool read_integers(const toml::node& node, const ValueContext& context, const Range& range,
                   int most, std::vector<int>& values) {
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty() || array->size() > static_cast<std::size_t>(most)) {
    context.fail("found " + describe_size(node) + ", expected an array of 1 to " +
                 std::to_string(most) + " integers " + range.words);
    return false;
  }
  bool is_good = true;
  for (std::size_t i = 0; i < array->size(); ++i) {
    std::int64_t value = 0;
    is_good = read_integer((*array)[i], entry_of(context, i), range,
                           std::numeric_limits<int>::max(), value) &&
              is_good;
    values.push_back(static_cast<int>(value));
  }
  return is_good;
}

bool read_shape(const toml::node& node, const ValueContext& context, Shape& shape) {
  const toml::array* array = node.as_array();
  if (array == nullptr || (array->size() != 1 && array->size() != 3)) {
    context.fail("found " + describe_size(node) +
                 ", expected [channels, height, width] or [features]");
    return false;
  }
  std::int64_t extents[3] = {1, 1, 1};
  for (std::size_t i = 0; i < array->size(); ++i) {
    if (!read_integer((*array)[i], entry_of(context, i), from_to(1, 1 << 24), 1 << 24, extents[i]))
      return false;
  }
  shape = {static_cast<int>(extents[0]), static_cast<int>(extents[1]),
           static_cast<int>(extents[2])};
  if (shape.is_too_large()) {
    context.fail("has too many units, expected at most " + std::to_string(kMaxUnits));
    return false;
  }
  return true;
}

}  // namespace quern

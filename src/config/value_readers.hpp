// SPDX-License-Identifier: Apache-2.0
// Single values out of TOML nodes. Each function stores a good value and returns true, or reports
// what is wrong and returns false.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.hpp"
#include "config/key.hpp"
#include "config/range.hpp"

namespace quern {

/// "found a string, expected <expected>".
void report_type(const toml::node& node, const ValueContext& context, const std::string& expected);

/// `highest` is the largest number that the variable behind the key can hold.
bool read_integer(const toml::node& node, const ValueContext& context, const Range& range,
                  std::int64_t highest, std::int64_t& value);

/// A float or an integer.
bool read_number(const toml::node& node, const ValueContext& context, const Range& range,
                 double& value);

bool read_boolean(const toml::node& node, const ValueContext& context, bool& value);

/// A string without control characters.
bool read_string(const toml::node& node, const ValueContext& context, std::string& value);

/// An array of strings, none of them empty.
bool read_strings(const toml::node& node, const ValueContext& context,
                  std::vector<std::string>& values);

/// The index of the node's string in `choices`.
bool read_choice(const toml::node& node, const ValueContext& context,
                 const std::vector<std::string>& choices, std::size_t& index);

/// A size such as "2 GiB" or "1.5 MiB", in bytes.
bool read_bytes(const toml::node& node, const ValueContext& context, std::int64_t& value);

/// An array of two numbers.
bool read_number_pair(const toml::node& node, const ValueContext& context, const Range& range,
                      double& first, double& second);

/// An array of numbers, at least one.
bool read_numbers(const toml::node& node, const ValueContext& context, const Range& range,
                  std::vector<double>& values);

/// An array of 1 to `most` integers.
bool read_integers(const toml::node& node, const ValueContext& context, const Range& range,
                   int most, std::vector<int>& values);

/// [C, H, W] or [F]; the units of a sample must fit into an int.
bool read_shape(const toml::node& node, const ValueContext& context, Shape& shape);

}  // namespace quern

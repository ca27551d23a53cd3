// SPDX-License-Identifier: Apache-2.0
// TOML text as a tree of nodes that know their line.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "config/problems.hpp"

namespace quern {

/// Names that nodes of such options carry as their source.
inline constexpr std::string_view kSetOption = "--set";
inline constexpr std::string_view kChangeOption = "--change";

/// Parses a document; InputError "<source>:<line>:<column>: ..." on a syntax error.
toml::table parse_document(std::string_view text, std::string_view source_name);

/// Where a node stands. Nodes without a source were made by an option.
Place place_of(const toml::node& node);

/// "an integer", "a table", ...
std::string describe_type(const toml::node& node);

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>

#include "config/problems.hpp"

namespace quern {

/// Writes one --set option, "key.path=value", into the document (see read_recipe.hpp). Whether the
/// key exists is left to the reader of the document; only what has no place in it is reported.
void apply_override(toml::table& document, const std::string& assignment, Problems& problems);

}  // namespace quern

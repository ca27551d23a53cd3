// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "config/problems.hpp"

namespace quern {

/// Writes the value of one `option` (document.hpp), "key.path=value", into the document (see
/// read_recipe.hpp). Whether the key exists is left to the reader of the document; only what has no
/// place in it is reported.
void apply_override(toml::table& document, const std::string& assignment, std::string_view option,
                    Problems& problems);

/// The key of such an option, "network.layers.2.kernel"; "" where apply_override() finds none.
std::string override_key(const std::string& assignment);

}  // namespace quern

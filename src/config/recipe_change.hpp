// SPDX-License-Identifier: Apache-2.0
// Which keys may have another value in a run that is resumed, where somebody asks for it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace quern {

/// Why a run that is resumed cannot have another value of `key`, which may also be a table of keys;
/// "" when it can: a setting of the optimizer other than its type, or a key that may change anyway.
std::string change_problem(const std::string& key);

/// The keys of --change options, "key.path=value".
std::vector<std::string> changed_keys(std::span<const std::string> changes);

/// Is `key` one of `keys`, or in a table that is one of them?
bool is_among(const std::string& key, std::span<const std::string> keys);

}  // namespace quern

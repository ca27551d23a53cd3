// SPDX-License-Identifier: Apache-2.0
// "did you mean": what the names of PyTorch, Keras and other programs are in recipes.
#pragma once

#include <string_view>
#include <vector>

namespace quern {

/// Paths of keys that may be meant by the key `name`; upper and lower case count as equal. Empty:
/// the name is unknown.
std::vector<std::string_view> keys_meant_by(std::string_view name);

/// The same for values of keys that have names to choose from: of layers, losses and others.
std::vector<std::string_view> values_meant_by(std::string_view value);

}  // namespace quern

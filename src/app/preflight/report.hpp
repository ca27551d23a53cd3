// SPDX-License-Identifier: Apache-2.0
// What `quern preflight` thinks of a launch, and says.
#pragma once

#include <string>
#include <vector>

#include "app/preflight/facts.hpp"

namespace quern {

/// What is wrong with a launch, and the flag to change. Errors first. Pure: `findings` is not read.
std::vector<Finding> judge(const Preflight& facts);

/// A table (rank, host, device, processors, threads), what was measured, and the findings. Of many
/// ranks only the first ones are shown.
std::string preflight_text(const Preflight& facts);

/// All of it, as one JSON object.
std::string preflight_json(const Preflight& facts);

/// Findings that forbid to go on.
int num_errors(const Preflight& facts);

}  // namespace quern

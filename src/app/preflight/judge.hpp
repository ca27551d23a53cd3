// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "app/preflight/facts.hpp"

namespace quern {

/// What is wrong with a launch, and the flag to change. Errors first. Pure: `findings` is not read.
std::vector<Finding> judge(const Preflight& facts);

}  // namespace quern

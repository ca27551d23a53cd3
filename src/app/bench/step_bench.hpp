// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/command.hpp"

namespace quern {

/// `quern bench step`: whole training steps of a recipe.
Command add_step_bench(CommandLine bench);

}  // namespace quern

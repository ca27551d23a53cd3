// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/command.hpp"

namespace quern {

Command add_evaluate_command(CommandLine app);

}  // namespace quern

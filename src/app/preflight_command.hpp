// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/command.hpp"

namespace quern {

Command add_preflight_command(CLI::App& app);

}  // namespace quern

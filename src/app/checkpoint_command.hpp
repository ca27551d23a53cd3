// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/command.hpp"

namespace quern {

/// quern checkpoint ls|show|verify|hash|diff|export: inspects checkpoints, never changes one. A run
/// folder stands for its newest checkpoint, for `ls` and `verify` for all of them.
Command add_checkpoint_command(CommandLine app);

}  // namespace quern

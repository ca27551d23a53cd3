// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/command.hpp"

namespace quern {

/// `quern bench io`: shards and checkpoints against plain files.
Command add_io_bench(CommandLine bench);

}  // namespace quern

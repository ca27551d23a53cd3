// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/command.hpp"

namespace quern {

/// "quern shard": IDX files to HDF5 shards.
Command add_shard_command(CommandLine app);

}  // namespace quern

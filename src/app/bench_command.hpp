// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/command.hpp"

namespace quern {

/// `quern bench kernels|step|allreduce|io`; app/bench/ holds one file for each.
Command add_bench_command(CommandLine app);

}  // namespace quern

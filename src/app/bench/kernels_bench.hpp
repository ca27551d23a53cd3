// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/command.hpp"

namespace quern {

/// `quern bench kernels`: where the time of a training step goes, kernel by kernel.
Command add_kernels_bench(CommandLine bench);

}  // namespace quern

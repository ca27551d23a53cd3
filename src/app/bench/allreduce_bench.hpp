// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/command.hpp"

namespace quern {

/// `quern bench allreduce`: the sum of the gradients over the ranks.
Command add_allreduce_bench(CommandLine bench);

}  // namespace quern

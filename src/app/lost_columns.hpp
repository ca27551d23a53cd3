// SPDX-License-Identifier: Apache-2.0
// Columns of numbers so large beside their differences that float32 cannot tell them apart.
#pragma once

#include <string>
#include <vector>

#include "app/sample_set.hpp"
#include "comm/communicator.hpp"

namespace quern {

/// A sentence for the inputs and one for the targets, where they have such columns; equal on all
/// ranks. Collective.
std::vector<std::string> lost_columns(Communicator& comm, const SampleSet& set,
                                      const SampleSetSource& source);

}  // namespace quern

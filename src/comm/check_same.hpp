// SPDX-License-Identifier: Apache-2.0
// What every rank has to bring alike. Otherwise they would wait for each other, or take each
// other's numbers for those of something else.
#pragma once

#include <string>

#include "comm/communicator.hpp"

namespace quern {

/// Collective: AgreedError (exit 2) when `text` is not the same on all ranks. It names the lowest
/// rank where it is not as on rank 0, and the first line of both that differs. `what` the text
/// tells of: "the samples to predict".
void check_same(Communicator& comm, const std::string& what, const std::string& text);

}  // namespace quern

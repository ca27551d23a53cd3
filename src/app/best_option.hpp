// SPDX-License-Identifier: Apache-2.0
// --best: of a run folder the checkpoint of the best evaluation, not the newest.
#pragma once

#include <string>

#include "app/command_line.hpp"
#include "checkpoint/checkpoint_state.hpp"
#include "comm/communicator.hpp"
#include "state/load_checkpoint.hpp"

namespace quern {

void add_best_option(CommandLine& command, bool& best);

/// load_from(). With `best` best.h5 of the run folder; InputError where there is none, or `path` is
/// a file. Without, a note where the folder has one that is not the newest.
LoadedCheckpoint load_chosen(const std::string& path, bool best);

/// Collective. The same of load_checkpoint().
SharedCheckpoint load_chosen(Communicator& comm, const std::string& path, bool best);

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// Checks at the start of a run, before an allocation is burned.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/launch.hpp"

namespace quern {

/// Throws InputError when the launcher started another number of processes than communicate here:
/// N processes that each believe they are alone would all train, and overwrite each other.
void check_launch(const Launch& launch, int num_ranks);

/// One process in a Slurm job of several tasks, outside any step: the sentence to warn with, else
/// empty.
std::string launch_warning(const Launch& launch, int num_ranks);

/// Collective: throws AgreedError (exit 2) on all ranks unless `hash`, the executable's, is equal
/// everywhere; the message names the ranks and hosts that differ from what most ranks have.
void check_same_program(Communicator& comm, const std::string& hash);

/// Collective: the same for the running executable's SHA-256.
void check_same_program(Communicator& comm);

/// Collective: throws AgreedError (exit 2) on all ranks unless `words`, a command line, are equal
/// everywhere; the message names the first rank that differs from rank 0, and the first word.
void check_same_command(Communicator& comm, const std::vector<std::string>& words);

/// The words behind the program's name that this process was started with.
std::vector<std::string> words_of_this_process();

}  // namespace quern

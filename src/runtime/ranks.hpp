// SPDX-License-Identifier: Apache-2.0
// Commands that run on several ranks: communication, Kokkos and errors around their body.
#pragma once

#include <functional>
#include <string>

#include "base/exit_code.hpp"
#include "comm/communicator.hpp"

namespace quern {

/// Starts communication and Kokkos, runs `body`, and turns exceptions into one message and an exit
/// status on every rank: an AgreedError of all ranks is printed by rank 0; any other error is
/// printed by the rank it happened on, or by one of a node where several have the same, or by one
/// of the group that agreed on it, which then ends all ranks. What `body` makes of Quern's must be
/// gone when it returns. `prepare` runs before Kokkos starts: what it refuses is refused without a
/// device, too. An MPI or a Kokkos that the program has initialised is taken as it is and goes on
/// afterwards; then this may be called several times. Meanwhile the threads of kernels, and this
/// one, take denormals for zero (base/flush_denormals.hpp); OpenMP's threads keep doing so
/// afterwards.
ExitCode run_on_ranks(const std::function<ExitCode(Communicator&)>& body,
                      const std::function<void(Communicator&)>& prepare = {});

/// run_on_ranks() on some ranks of a program that has initialised MPI: on those of a communicator
/// of its own, all of which call, and no others. `communicator` is MPI_Comm_c2f(communicator).
/// Ranks of several communicators may call at the same time, each for a training of its own. Rank 0
/// of the communicator speaks. An error that not all of its ranks have ends all of MPI_COMM_WORLD.
ExitCode run_on_ranks_of(int communicator, const std::function<ExitCode(Communicator&)>& body);

/// run_on_ranks() without Kokkos and devices: for commands that read and write files.
ExitCode run_on_hosts(const std::function<ExitCode(Communicator&)>& body);

/// What to say of this rank besides its number and host where it fails alone: "stage 1 of 2".
void set_place_of_this_rank(const std::string& place);

}  // namespace quern

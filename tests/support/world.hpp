// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"

namespace quern::testing {

/// All ranks of an MPI test program (tests/support/mpi_main.cpp). Every rank runs the same tests in
/// the same order; between collective calls use EXPECT, not ASSERT, unless all ranks fail alike.
Communicator& world();

}  // namespace quern::testing

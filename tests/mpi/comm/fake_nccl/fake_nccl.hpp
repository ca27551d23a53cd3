// SPDX-License-Identifier: Apache-2.0
// What a test may do to the stand-in, and see of it.
#pragma once

#include <atomic>

#include "mpi/comm/fake_nccl/nccl.h"

namespace quern::testing {

struct FakeNccl {
  // To be set before the calls they are for; on this rank.
  int version = NCCL_VERSION_CODE;
  ncclResult_t init_result = ncclInProgress;  ///< what ncclCommInitRankConfig returns
  bool init_hangs = false;                    ///< joining never ends, as if a rank were missing
  ncclResult_t async_error = ncclSuccess;     ///< what polling finds

  // Seen on this rank.
  int ids_made = 0;
  int polls = 0;
  int finalised = 0;
  int destroyed = 0;
  int aborted = 0;
  bool ids_differ = false;  ///< ranks joined with different ids
};

/// Recorded graphs that hold exchanges: ncclCommAbort waits until there is none.
std::atomic<int>& recorded_graphs();

/// The one stand-in of this process. ncclCommAbort may run on a thread of its own.
FakeNccl& fake_nccl();

}  // namespace quern::testing

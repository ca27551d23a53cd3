// SPDX-License-Identifier: Apache-2.0
#include "state/load_checkpoint.hpp"

#include <gtest/gtest.h>

#include <string>

#include "checkpoint/writer.hpp"
#include "comm/serial/communicator.hpp"
#include "spec/recipe.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

namespace quern {
namespace {

// An intact checkpoint may have been written by another program.
TEST(LoadCheckpoint, RefusesAGlobalBatchThatIsNone) {
  const test::TempDir folder;
  SerialCommunicator comm;
  for (const std::int64_t batch : {-1, 0, kMaxGlobalBatch + 1}) {
    CheckpointState state;
    state.origin.global_batch = batch;
    write_checkpoint_file(folder / "a.h5", state);
    test::expect_error(
        [&] { load_checkpoint(comm, folder / "a.h5"); }, ExitCode::do_not_requeue,
        {"a.h5' has a global batch of " + std::to_string(batch) + ", expected 1 to "});
  }
}

}  // namespace
}  // namespace quern

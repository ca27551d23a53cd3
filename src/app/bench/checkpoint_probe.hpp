// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/bench/io_report.hpp"
#include "app/bench/scratch_folder.hpp"
#include "checkpoint/checkpoint_state.hpp"

namespace quern {

/// Writes, verifies and removes checkpoints of `state`, in turn with raw files of the same bytes:
/// two rows, writing and reading. Throws Error when the folder cannot take them.
std::vector<IoRow> time_checkpoint(const std::string& what, const CheckpointState& state,
                                   const ScratchFolder& scratch, int rounds);

}  // namespace quern

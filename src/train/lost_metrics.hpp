// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "checkpoint/checkpoint_state.hpp"
#include "train/run_folder.hpp"

namespace quern {

/// Says that metrics.jsonl ends before `checkpoint`, which is one of the folder's; "" where it does
/// not. Lines from before the start that wrote the checkpoint do not matter: that start has told of
/// them.
std::string lost_metrics_text(const RunFolder& folder, const CheckpointState& checkpoint);

}  // namespace quern

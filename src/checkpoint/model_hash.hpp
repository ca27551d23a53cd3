// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "checkpoint/checkpoint_state.hpp"

namespace quern {

/// SHA-256 of the model's canonical bytes: for each tensor, sorted by the bytes of its name, the
/// name, a zero byte, the number of axes and the extents (little-endian int64) and the values
/// (little-endian float32). Two runs are bit-identical exactly when their hashes are equal.
std::string model_hash(std::span<const NamedTensor> model);

/// "step 120, model 5ba9...", with model_hash(): which state of a training it is, whatever the file
/// is called.
std::string state_name(const CheckpointState& state);

}  // namespace quern

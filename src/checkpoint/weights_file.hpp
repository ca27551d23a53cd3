// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"

namespace quern {

/// InputError where the file is of another format than checkpoints are, and not named as one, which
/// would be damaged.
void refuse_other_formats(const std::filesystem::path& file);

/// A checkpoint file, or the newest good one of a run folder or a folder of checkpoints. Throws as
/// read_checkpoint() and load_newest() do, and InputError when there is none. `damaged`: as there.
LoadedCheckpoint load_from(const std::filesystem::path& path,
                           std::vector<std::filesystem::path>* damaged = nullptr);

/// The weights of a Quern checkpoint, of the newest good one of a run folder, or of a safetensors
/// file from elsewhere: the kind is told by the first bytes. Throws as read_checkpoint() and
/// read_safetensors() do, and InputError where it is another format.
LoadedCheckpoint read_weights(const std::filesystem::path& path);

}  // namespace quern

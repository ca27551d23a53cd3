// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "checkpoint/checkpoint_state.hpp"

namespace quern {

/// The tensors of a safetensors file from elsewhere as a state that holds a model and nothing else;
/// of one that Quern has exported, also the recipe and the names of the classes.
/// Values of F16 and BF16 become float32, exactly; tensors named "num_batches_tracked", which
/// PyTorch counts batches with, are left out. Throws InputError, one sentence naming the file and
/// what is wrong: whatever is in the file, reading it takes no more memory than twice its size.
/// SystemFailure where a disk or a file server fails.
LoadedCheckpoint read_safetensors(const std::filesystem::path& path);

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "checkpoint/checkpoint_state.hpp"

namespace quern {

/// Writes the model's tensors, with PyTorch's names, as a safetensors file: the length of the
/// header (8 bytes, little-endian), the header (JSON), the raw little-endian values. Step, epoch,
/// seed, git commit, recipe and names of the classes go into "__metadata__". Appears whole or not
/// at all; replaces an existing file. Throws Error when it cannot be written. Format:
/// https://huggingface.co/docs/safetensors
void write_safetensors(const std::filesystem::path& path, const CheckpointState& state);

}  // namespace quern

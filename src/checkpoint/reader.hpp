// SPDX-License-Identifier: Apache-2.0
// Reads checkpoints and believes nothing that does not verify. SystemFailure where a disk or a file
// server fails meanwhile: the checkpoint may be good.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"

namespace quern {

/// Reads and verifies everything: seal, format, version, manifest, type, shape and SHA-256 of every
/// dataset, and that a file named "ckpt-<step>.h5" is of that step; other names say nothing. Throws
/// InputError when there is no such file, and UnusableError naming the file, the object, what was
/// expected and what was found when it is not a whole, undamaged checkpoint.
LoadedCheckpoint read_checkpoint(const std::filesystem::path& path);

/// Where the training of a checkpoint stood. Reads and verifies as read_checkpoint(), all but the
/// tensors.
TrainingProgress read_progress(const std::filesystem::path& path);

/// What is wrong with a checkpoint, one sentence for each damaged part; empty when it is good.
/// For people: it also looks into files without a seal, which HDF5 could crash on; a run never
/// does. Throws InputError when there is no such file.
std::vector<std::string> find_damage(const std::filesystem::path& path);

/// Told about every checkpoint that was passed over, and why.
using DamageReport =
    std::function<void(const std::filesystem::path& path, const std::string& problem)>;

/// The good checkpoint of the highest step; nothing when the folder holds no checkpoints or does
/// not exist. Throws UnusableError when it holds some and none is good.
std::optional<LoadedCheckpoint> load_newest_good(const std::filesystem::path& folder,
                                                 const DamageReport& report);

/// The same with a warning of each damaged one, which `damaged`, if there, gets.
std::optional<LoadedCheckpoint> load_newest(const std::filesystem::path& folder,
                                            std::vector<std::filesystem::path>* damaged = nullptr);

}  // namespace quern

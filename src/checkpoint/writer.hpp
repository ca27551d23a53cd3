// SPDX-License-Identifier: Apache-2.0
// Writes checkpoints that appear whole or not at all, whenever the process or the machine dies.
// docs/formats.md describes the file. Called by one process only, rank 0.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "checkpoint/checkpoint_state.hpp"

namespace quern {

/// Writes folder/ckpt-<step>.h5: under a temporary name, flushed, forced to the disk, renamed, the
/// folder forced to the disk. Replaces a checkpoint of the same step. Makes the folder when it does
/// not exist. Throws Error when it cannot be written (no space, not writable): the temporary file
/// is gone then and older checkpoints are as they were, also when `check`, called just before the
/// renaming, throws. Returns the path.
std::filesystem::path write_checkpoint(const std::filesystem::path& folder,
                                       const CheckpointState& state,
                                       const std::function<void()>& check = {});

/// The same into the file `path`, of any name; its folder must exist. InputError where it does not
/// let anybody write.
void write_checkpoint_file(const std::filesystem::path& path, const CheckpointState& state);

/// The checkpoints of one run: writes, then deletes what is too old.
class CheckpointWriter {
 public:
  /// Makes the folder, but none above it, and removes temporary files that dead processes left in
  /// it. `keep` >= 1: how many checkpoints stay; `damaged` ones do not count. Throws Error when the
  /// folder cannot be made.
  CheckpointWriter(std::filesystem::path folder, int keep,
                   std::vector<std::filesystem::path> damaged = {});

  /// write_checkpoint, then keep_newest, with `check` before each. Makes the folder anew where it
  /// is gone, but none above it.
  std::filesystem::path write(const CheckpointState& state,
                              const std::function<void()>& check = {});

 private:
  std::filesystem::path folder_;
  int keep_;
  std::vector<std::filesystem::path> damaged_;
};

}  // namespace quern

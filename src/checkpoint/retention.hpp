// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

namespace quern {

/// Deletes old checkpoints, oldest first, so that `newest` and the `keep` - 1 checkpoints of the
/// steps just below it remain; then forces the folder to the disk. `newest` is the one just
/// written: unless it is there and sealed, nothing is deleted and Error is thrown. Checkpoints of
/// higher steps and files that are no checkpoints are never touched. Returns what was deleted; a
/// file that cannot be deleted is worth a warning only. `keep` >= 1. Those that are known to be
/// `damaged` do not count: they stay as long as they are newer than the last one that is kept.
std::vector<std::filesystem::path> keep_newest(
    const std::filesystem::path& newest, int keep,
    const std::vector<std::filesystem::path>& damaged = {});

}  // namespace quern

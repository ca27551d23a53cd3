// SPDX-License-Identifier: Apache-2.0
// "best.h5": a second name, in the same folder, of the checkpoint of the best evaluation. It stays
// when that checkpoint is too old to be kept.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "spec/best_evaluation.hpp"

namespace quern {

inline constexpr const char* kBestCheckpointName = "best.h5";

/// The file of that name in a folder of checkpoints; nothing when there is none.
std::optional<std::filesystem::path> best_checkpoint_of(const std::filesystem::path& folder);

/// Gives `checkpoint` that name, at once and whole: another one loses it. A hard link, or a copy on
/// file systems without. Throws Error when neither can be made, or `check` throws, which is called
/// just before; then the name is where it was.
void name_best_checkpoint(const std::filesystem::path& checkpoint,
                          const std::function<void()>& check = {});

/// Before a run goes on in `folder`: afterwards best.h5 is of `best`, or not there. One of another
/// past, or damaged, is told of and gets the name "best-old.h5"; best.h5 is given to the checkpoint
/// of that step if there is one, and takes it silently from an earlier best one of the same run: a
/// process may be killed after it wrote the better one, before it named it. `check` is called
/// before anything is renamed, and may throw. True when best.h5 is there, or `best` is of no epoch.
bool restore_best_checkpoint(const std::filesystem::path& folder, const BestEvaluation& best,
                             const std::function<void()>& check = {});

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
// What a run continues from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/reader.hpp"
#include "spec/recipe.hpp"
#include "strategy/batch_rule.hpp"
#include "train/run_folder.hpp"

namespace quern {

/// The run that is about to start.
struct RunIdentity {
  const Recipe& recipe;
  const BatchRule& batches;
  std::string data_hash;
  std::vector<std::string> changes;  ///< keys that may differ from the checkpoint's (--change)
};

struct StartingPoint {
  std::optional<LoadedCheckpoint> checkpoint;  ///< none: a fresh start
  bool is_in_folder = false;                   ///< or the run's folder has the same
  std::vector<std::filesystem::path> damaged;  ///< checkpoints of the folder that were passed over
  std::vector<RecipeChange> changes;           ///< of the run's recipe against the checkpoint's
  std::string started_from;                    ///< CheckpointState::started_from
};

/// Rank 0: the checkpoint to continue from. `resume`: "auto" (the newest
/// good one of the folder), "never", a checkpoint file or a run folder, whose newest good one is
/// taken, unless the run has started from that before: then as "auto". InputError rather than
/// writing over another run, or going on from a checkpoint of other data or another recipe, or from
/// none where changes are asked for; UnusableError where the run is done and its checkpoints are
/// gone.
StartingPoint find_starting_point(const std::string& resume, const RunFolder& folder,
                                  const RunIdentity& run);

/// Is there what `resume` names? InputError.
void check_resume(const std::string& resume);

/// Says so, where a run had ended in the folder before its first checkpoint. For who has its lock.
void tell_of_lost_steps(const RunFolder& folder);

/// A start with --resume never in a folder that holds a run. InputError.
[[noreturn]] void refuse_earlier_run(const RunFolder& folder);

/// A start with --change, and without a checkpoint to resume from. InputError.
[[noreturn]] void refuse_change_of_new_run(const RunFolder& folder);

/// A start with --change that has nothing left to train. InputError. `expected`: what would do.
[[noreturn]] void refuse_change_of_finished_run(const std::string& key,
                                                const std::string& expected);

/// InputError when the folder has the recipe of a run, even without a checkpoint, that cannot go on
/// with `ours` and full batches of `our_batch` out of `num_samples` samples; `changes` as in
/// RunIdentity.
void refuse_other_run(const Recipe& ours, int our_batch, std::int64_t num_samples,
                      const std::vector<std::string>& changes, const RunFolder& folder);

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#include "train/starting_point.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "config/read_recipe.hpp"
#include "config/recipe_difference.hpp"
#include "train/load_checkpoint.hpp"

namespace quern {

namespace {

void refuse_other_recipe(const RunIdentity& ours, const std::string& their_text,
                         std::int64_t their_batch, const std::string& where) {
  refuse_other_recipe(ours.recipe, ours.batches.full_batch, parse_recipe(their_text, where),
                      full_batch_of(their_batch, ours.batches.num_samples), where);
}

// The next start would go on from those, which may be of another past.
void refuse_later_checkpoints(const RunFolder& folder, std::int64_t step) {
  const std::vector<CheckpointFile> checkpoints = list_checkpoints(folder.checkpoints());
  if (checkpoints.empty() || checkpoints.back().step <= step) return;
  throw InputError(
      "the run folder '" + folder.path().string() + "' has a checkpoint of step " +
      std::to_string(checkpoints.back().step) + ", later than the one to start from (" +
      std::to_string(step) +
      "): --resume auto resumes from it; else take another --run-dir, or remove the later ones");
}

}  // namespace

void refuse_other_recipe(const Recipe& ours, int our_batch, const Recipe& theirs, int their_batch,
                         const std::string& where) {
  const auto difference = first_difference(ours, our_batch, theirs, their_batch);
  if (!difference) return;
  if (difference->key == "data.global_batch" && ours.data.batch_per_rank > 0) {
    throw InputError(
        where + " is of a run with a global batch of " + difference->theirs +
        ", but data.batch_per_rank makes " + difference->ours +
        " now: start as many ranks as then, or give --set data.global_batch=" + difference->theirs);
  }
  throw InputError(where + " is of another recipe: " + difference->key + " is " +
                   difference->theirs + " there, and " + difference->ours +
                   " now (take another --run-dir, or the old value)");
}

void refuse_earlier_run(const RunFolder& folder) {
  throw InputError("the run folder '" + folder.path().string() +
                   "' holds a run already (expected a new folder with --resume never)");
}

std::optional<LoadedCheckpoint> find_starting_point(const std::string& resume,
                                                    const RunFolder& folder,
                                                    const RunIdentity& run) {
  if (std::filesystem::exists(folder.stop_file())) {
    throw InputError("'" + folder.stop_file().string() +
                     "' asks this run to stop (remove the file to train on)");
  }
  std::optional<LoadedCheckpoint> start;
  if (resume == "never") {
    if (!folder.recipe_text().empty()) refuse_earlier_run(folder);
    return start;
  }
  if (resume == "auto") {
    start = load_newest(folder.checkpoints());
  } else if (!std::filesystem::exists(resume)) {
    throw InputError("--resume: there is no checkpoint '" + resume +
                     "' (expected auto, never or a checkpoint file)");
  } else {
    start = read_checkpoint(resume);
    refuse_later_checkpoints(folder, start->state().progress.step);
  }
  const std::string old_recipe = folder.recipe_text();
  if (!old_recipe.empty()) {
    // Without a checkpoint nobody knows on how many ranks the run was started.
    const std::int64_t old_batch =
        start && resume == "auto" ? start->state().origin.global_batch : run.batches.full_batch;
    refuse_other_recipe(run, old_recipe, old_batch, folder.recipe_file().string());
  }
  if (!start) return start;
  const RunOrigin& origin = start->state().origin;
  refuse_other_recipe(run, origin.recipe, origin.global_batch, start->path().string());
  const std::int64_t trained = start->state().progress.epoch;
  if (trained > run.recipe.train.epochs) {
    throw InputError("train.epochs is " + std::to_string(run.recipe.train.epochs) + ", but '" +
                     start->path().string() + "' has trained " + std::to_string(trained) +
                     " already (expected at least as many, or another --run-dir)");
  }
  // Of imported weights nobody knows the data.
  if (!origin.data_sha256.empty() && origin.data_sha256 != run.data_hash) {
    throw InputError("'" + start->path().string() + "' was trained on other data (SHA-256 " +
                     origin.data_sha256.substr(0, 12) + ", expected " +
                     run.data_hash.substr(0, 12) + ")");
  }
  return start;
}

}  // namespace quern

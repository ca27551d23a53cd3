// SPDX-License-Identifier: Apache-2.0
#include "train/starting_point.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "checkpoint/best_checkpoint.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/comparison.hpp"
#include "checkpoint/model_hash.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/weights_file.hpp"
#include "config/read_recipe.hpp"
#include "io/folder_files.hpp"
#include "train/recipe_match.hpp"

namespace quern {

namespace {

constexpr const char* kOtherFolder = "take another --run-dir";
constexpr const char* kOtherCheckpoint = "take another checkpoint";

// A path that cannot be looked up, because it is too long or closed, is named where it is written.
bool is_there(const std::filesystem::path& file) {
  std::error_code unreadable;
  return std::filesystem::exists(file, unreadable);
}

// What the run has otherwise than the checkpoint from now on, as was asked for.
std::vector<RecipeChange> changes_from(const LoadedCheckpoint& start, const RunIdentity& ours,
                                       const char* remedy) {
  const RunOrigin& origin = start.state().origin;
  const std::string where = start.path().string();
  const Recipe theirs = parse_recipe(origin.recipe, where);
  const int their_batch = full_batch_of(origin.global_batch, ours.batches.num_samples);
  std::vector<RecipeChange> changes;
  for (RecipeDifference& difference :
       accepted_differences({ours.recipe, ours.batches.full_batch}, {theirs, their_batch},
                            {.where = where,
                            .remedy = remedy,
                            .changes = ours.changes,
                            .is_untrained = start.state().progress.step == 0})) {
    changes.push_back({start.state().progress.step, std::move(difference.key),
                       std::move(difference.theirs), std::move(difference.ours)});
  }
  return changes;
}

bool has_numbers_of_data(const Recipe& recipe) {
  return recipe.data.normalize.type != NormalizeType::none ||
         recipe.data.normalize_targets.type != NormalizeType::none ||
         recipe.loss.class_weights.type != ClassWeightsType::none;
}

void refuse_other_data(const RunIdentity& ours, const LoadedCheckpoint& start, const char* remedy) {
  const std::string& theirs = start.state().origin.data_sha256;
  // Of imported weights nobody knows the data.
  if (theirs.empty() || theirs == ours.data_hash) return;
  const std::string set = ours.recipe.data.source == DataSource::shards
                              ? "'" + ours.recipe.data.train + "'"
                              : "those of now";
  throw InputError("'" + start.path().string() + "' was trained on other data than " + set +
                   " (SHA-256 " + theirs.substr(0, 12) + ", now " + ours.data_hash.substr(0, 12) +
                   "; the same samples cut into other shards are other data, too): " + remedy +
                   ", or the old data");
}

// An epoch in progress counts: weights of a part of it are not those of the end of the one before.
void refuse_fewer_epochs(int epochs, const TrainingProgress& at,
                         const std::filesystem::path& checkpoint) {
  const bool is_amid = at.cursor > 0;
  const std::int64_t least = at.epoch + (is_amid ? 1 : 0);
  if (epochs >= least) return;
  throw InputError("train.epochs is " + std::to_string(epochs) + ", but '" + checkpoint.string() +
                   "' has trained " + std::to_string(at.epoch) + " already" +
                   (is_amid ? " and a part of the next" : "") + " (expected at least " +
                   std::to_string(least) + ", or another --run-dir)");
}

// What a finished run has left, its metrics, must not go for a training that nobody asked for.
void refuse_lost_checkpoints(const RunFolder& folder) {
  if (const auto best = best_checkpoint_of(folder.checkpoints())) {
    throw UnusableError("the run in '" + folder.path().string() +
                        "' has no checkpoint left to resume from but that of its best evaluation "
                        "(--resume '" +
                        best->string() +
                        "' goes on from that; or take another --run-dir, or remove that folder to "
                        "train it again)");
  }
  if (!is_there(folder.done_file())) return;
  throw UnusableError("the run in '" + folder.path().string() +
                      "' is done (DONE is there), but it has no checkpoint left to resume from "
                      "(take another --run-dir, or remove that folder to train it again)");
}

// Is it the file of its step there?
bool is_in_folder(const LoadedCheckpoint& start, const std::filesystem::path& checkpoints) {
  std::error_code absent;
  return std::filesystem::equivalent(
      start.path(), checkpoints / checkpoint_name(start.state().progress.step), absent);
}

// Is it a file of the run itself?
bool is_of_run(const LoadedCheckpoint& start, const RunFolder& folder) {
  std::error_code absent;
  return std::filesystem::equivalent(start.path().parent_path(), folder.checkpoints(), absent);
}

// Nothing where it is damaged, of which a warning tells. `known`: those whose turn that was before.
std::optional<LoadedCheckpoint> read_good(const std::filesystem::path& path,
                                          const std::vector<std::filesystem::path>& known) {
  const auto is_it = [&](const std::filesystem::path& other) {
    std::error_code absent;
    return std::filesystem::equivalent(path, other, absent);
  };
  if (std::any_of(known.begin(), known.end(), is_it)) return std::nullopt;
  try {
    return read_checkpoint(path);
  } catch (const UnusableError& problem) {
    log::warn(std::string(problem.what()) + "; this checkpoint is passed over");
    return std::nullopt;
  }
}

// The next start would go on from those of later steps, or of this one, which may be of another
// past. A run that started from this very checkpoint goes on. `known_damaged`: files that have been
// looked at.
void compare_with_folder(const RunFolder& folder,
                         const std::vector<std::filesystem::path>& known_damaged,
                         StartingPoint& found) {
  const LoadedCheckpoint& start = *found.checkpoint;
  const std::int64_t step = start.state().progress.step;
  found.is_in_folder = is_in_folder(start, folder.checkpoints());
  const std::vector<CheckpointFile> files = list_checkpoints(folder.checkpoints());
  for (auto file = files.rbegin(); file != files.rend() && file->step >= step; ++file) {
    const bool is_later = file->step > step;
    if (!is_later && found.is_in_folder) return;
    std::optional<LoadedCheckpoint> theirs = read_good(file->path, known_damaged);
    if (!theirs) {
      found.damaged.push_back(file->path);
      continue;
    }
    const bool has_started_so =
        !is_of_run(start, folder) && theirs->state().started_from == found.started_from;
    if (has_started_so ||
        (!is_later && compare_checkpoints(theirs->state(), start.state()).same_training_state())) {
      found.is_in_folder = true;
      if (has_started_so) found.checkpoint = std::move(theirs);
      return;
    }
    throw InputError("the run folder '" + folder.path().string() + "' has a checkpoint of step " +
                     std::to_string(file->step) +
                     (is_later ? ", later than the one to start from (" + std::to_string(step) + ")"
                               : ", which is not the same as the one to start from") +
                     ": --resume auto resumes from it; else take another --run-dir, or remove " +
                     (is_later ? "the later ones" : "that one"));
  }
}

}  // namespace

void refuse_other_run(const Recipe& ours, int our_batch, std::int64_t num_samples,
                      const std::vector<std::string>& changes, const RunFolder& folder) {
  const std::string text = folder.recipe_text();
  if (text.empty()) return;
  const std::string where = folder.recipe_file().string();
  const Recipe theirs = parse_recipe(text, where);
  // With a batch for each rank nobody but a checkpoint knows on how many the run was started.
  const int their_batch = theirs.data.batch_per_rank > 0
                              ? our_batch
                              : full_batch_of(theirs.data.global_batch, num_samples);
  accepted_differences({ours, our_batch}, {theirs, their_batch},
                       {.where = where,
                        .remedy = kOtherFolder,
                        .changes = changes,
                        .may_resume = !list_checkpoints(folder.checkpoints()).empty()});
}

void refuse_change_of_new_run(const RunFolder& folder) {
  const bool has_recipe = !folder.recipe_text().empty();
  throw InputError("--change is for a run that is resumed, and '" + folder.path().string() +
                   "' has no checkpoint to resume from (expected " +
                   (has_recipe ? "the recipe as it was, or another --run-dir and --set)"
                               : "--set for a new run)"));
}

void refuse_change_of_finished_run(const std::string& key, const std::string& expected) {
  throw InputError("--change " + key + ": nothing is left to train with it (expected " + expected +
                   ", or no --change)");
}

void tell_of_lost_steps(const RunFolder& folder) {
  if (!is_there(folder.metrics_file())) return;
  log::info("there is no checkpoint in '" + folder.path().string() +
            "': training begins anew, and so does metrics.jsonl");
}

void refuse_earlier_run(const RunFolder& folder) {
  throw InputError("the run folder '" + folder.path().string() +
                   "' holds a run already (expected a new folder with --resume never)");
}

void check_resume(const std::string& resume) {
  if (resume == "auto" || resume == "never" || std::filesystem::exists(status_of(resume))) return;
  throw InputError("--resume: there is no checkpoint '" + resume +
                   "' (expected auto, never, a checkpoint file or a run folder)");
}

StartingPoint find_starting_point(const std::string& resume, const RunFolder& folder,
                                  const RunIdentity& run) {
  if (std::filesystem::exists(folder.stop_file())) {
    throw InputError("'" + folder.stop_file().string() +
                     "' stops this run (remove the file to continue training)");
  }
  StartingPoint found;
  std::optional<LoadedCheckpoint>& start = found.checkpoint;
  if (resume == "never") {
    if (is_there(folder.done_file()) || !folder.recipe_text().empty()) refuse_earlier_run(folder);
    if (!run.changes.empty()) refuse_change_of_new_run(folder);
    return found;
  }
  if (resume == "auto") {
    start = load_newest(folder.checkpoints(), &found.damaged);
    found.is_in_folder = true;
    if (start) found.started_from = start->state().started_from;
    if (!start) refuse_lost_checkpoints(folder);
    if (!start && !run.changes.empty()) refuse_change_of_new_run(folder);
  } else {
    check_resume(resume);
    std::vector<std::filesystem::path> known_damaged;
    start = load_from(resume, &known_damaged);
    found.started_from =
        is_of_run(*start, folder) ? start->state().started_from : state_name(start->state());
    compare_with_folder(folder, known_damaged, found);
  }
  // Numbers that were taken out of other data would differ, too.
  const char* remedy = resume == "auto" ? kOtherFolder : kOtherCheckpoint;
  if (start && has_numbers_of_data(run.recipe)) refuse_other_data(run, *start, remedy);
  refuse_other_run(run.recipe, run.batches.full_batch, run.batches.num_samples, run.changes,
                   folder);
  if (!start) return found;
  found.changes = changes_from(*start, run, remedy);
  const TrainingProgress& at = start->state().progress;
  refuse_fewer_epochs(run.recipe.train.epochs, at, start->path());
  if (at.epoch == run.recipe.train.epochs && !found.changes.empty())
    refuse_change_of_finished_run(found.changes.front().key, "more train.epochs");
  refuse_other_data(run, *start, remedy);
  return found;
}

}  // namespace quern

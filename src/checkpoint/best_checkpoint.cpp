// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/best_checkpoint.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <span>
#include <system_error>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/system_failure.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/reader.hpp"
#include "io/pending_file.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

// What a good checkpoint says of its run, without tensors. Whatever is wrong with the file, it is
// not that checkpoint; unless it could not be read.
std::optional<CheckpointState> read_good(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  try {
    CheckpointState state = read_checkpoint(file).state();
    state.model.clear();
    state.optimizer.clear();
    return state;
  } catch (const SystemFailure&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_of(const std::optional<CheckpointState>& checkpoint, const BestEvaluation& best) {
  return checkpoint && checkpoint->progress.step == best.step;
}

// Has the run of `newer` the recipe of `older`, or changed it since?
bool is_same_run(const CheckpointState& older, const CheckpointState& newer) {
  const bool has_changed =
      newer.changes.size() > older.changes.size() &&
      std::ranges::equal(older.changes, std::span(newer.changes).first(older.changes.size()));
  return older.origin.seed == newer.origin.seed &&
         older.origin.data_sha256 == newer.origin.data_sha256 &&
         (older.origin.recipe == newer.origin.recipe || has_changed);
}

// The best one until then of the run that wrote `newer`? The run ended before it named `newer`.
bool is_beaten_by(const CheckpointState& older, const CheckpointState& newer) {
  return older.best.step == older.progress.step && older.progress.step < newer.progress.step &&
         older.best.monitor == newer.best.monitor && older.best.is_beaten_by(newer.best.value) &&
         older.best_data == newer.best_data && is_same_run(older, newer);
}

// It may be all that somebody has left of other weights.
void set_aside(const fs::path& file, bool is_damaged, const std::function<void()>& check) {
  if (check) check();
  const fs::path old = file.parent_path() / "best-old.h5";
  std::error_code error;
  fs::rename(file, old, error);
  if (!error) fs::remove(file, error);  // two names of one file: renaming does nothing then
  if (error)
    throw Error(fmt::format("cannot rename '{}' to '{}': {}", file.string(), old.string(),
                            error.message()));
  log::warn(fmt::format("'{}' is {}: it is '{}' from now on", file.string(),
                        is_damaged ? "damaged (quern checkpoint verify says why)"
                                   : "not of the run that goes on here",
                        old.filename().string()));
}

}  // namespace

std::optional<fs::path> best_checkpoint_of(const fs::path& folder) {
  fs::path file = folder / kBestCheckpointName;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  return file;
}

void name_best_checkpoint(const fs::path& checkpoint, const std::function<void()>& check) {
  const fs::path best = checkpoint.parent_path() / kBestCheckpointName;
  std::error_code absent;
  if (fs::equivalent(checkpoint, best, absent)) return;
  try {
    PendingFile pending(best);
    std::error_code ignored;
    fs::remove(pending.temporary(), ignored);  // of a process that had this number
    if (::link(checkpoint.c_str(), pending.temporary().c_str()) != 0)
      fs::copy_file(checkpoint, pending.temporary());
    pending.commit(check);
  } catch (const std::exception& problem) {
    throw Error(fmt::format("cannot name the checkpoint '{}' '{}' too: {}", checkpoint.string(),
                            kBestCheckpointName, problem.what()));
  }
}

bool restore_best_checkpoint(const fs::path& folder, const BestEvaluation& best,
                             const std::function<void()>& check) {
  const fs::path file = folder / kBestCheckpointName;
  std::error_code error;
  const std::optional<CheckpointState> named = read_good(file);
  const bool is_damaged = !named;
  if (best.epoch == 0) {
    if (fs::exists(file, error)) set_aside(file, is_damaged, check);
    return true;
  }
  if (is_of(named, best)) return true;
  const fs::path checkpoint = folder / checkpoint_name(best.step);
  const std::optional<CheckpointState> right = read_good(checkpoint);
  const bool has_right = is_of(right, best);
  const bool is_earlier = named && has_right && is_beaten_by(*named, *right);
  if (fs::exists(file, error) && !is_earlier) set_aside(file, is_damaged, check);
  if (has_right) name_best_checkpoint(checkpoint, check);
  return has_right;
}

}  // namespace quern

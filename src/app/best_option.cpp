// SPDX-License-Identifier: Apache-2.0
#include "app/best_option.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "checkpoint/best_checkpoint.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/weights_file.hpp"
#include "comm/agree.hpp"

namespace quern {

namespace {

std::string best_file_of(const std::string& path) {
  const auto folder = checkpoint_folder_of(path);
  if (!folder) throw InputError(fmt::format("--best: '{}' is a file, expected a run folder", path));
  if (const auto best = best_checkpoint_of(*folder)) return best->string();
  throw InputError(
      fmt::format("--best: there is no {} in '{}' (a run keeps one with checkpoint.keep_best)",
                  kBestCheckpointName, folder->string()));
}

// The newest checkpoint may know of another best one: of other test data, or written by a run that
// ended before it named its own.
void tell_of_best(const std::string& path, const LoadedCheckpoint& newest) {
  const auto folder = checkpoint_folder_of(path);
  const auto best = folder ? best_checkpoint_of(*folder) : std::nullopt;
  if (!best) return;
  std::string told;
  try {
    const TrainingProgress progress = read_progress(*best);
    if (progress.step == newest.state().progress.step) return;
    told = fmt::format("is of epoch {} (--best takes it)", progress.epoch);
  } catch (const Error&) {
    told = "cannot be read (quern checkpoint verify says why)";
  }
  log::info(fmt::format("taking the newest checkpoint, '{}'; {} {}", newest.path().string(),
                        kBestCheckpointName, told));
}

}  // namespace

void add_best_option(CommandLine& command, bool& best) {
  command.add_flag("--best", best,
                   "Of a run folder: best.h5, the checkpoint of its best evaluation");
}

LoadedCheckpoint load_chosen(const std::string& path, bool best) {
  if (best) return load_from(best_file_of(path));
  LoadedCheckpoint newest = load_from(path);
  tell_of_best(path, newest);
  return newest;
}

SharedCheckpoint load_chosen(Communicator& comm, const std::string& path, bool best) {
  std::string chosen = path;  // the file counts on rank 0
  run_on_root(comm, [&] {
    if (best) chosen = best_file_of(path);
  });
  SharedCheckpoint checkpoint = load_checkpoint(comm, chosen);
  run_on_root(comm, [&] {
    if (!best && checkpoint.loaded) tell_of_best(path, *checkpoint.loaded);
  });
  return checkpoint;
}

}  // namespace quern

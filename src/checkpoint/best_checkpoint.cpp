// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/best_checkpoint.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
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

// Whatever is wrong with the file, it is not that checkpoint; unless it could not be read.
bool is_good_and_of(const fs::path& file, const BestEvaluation& best) {
  try {
    return read_checkpoint(file).state().progress.step == best.step;
  } catch (const SystemFailure&) {
    throw;
  } catch (const Error&) {
    return false;
  }
}

// It may be all that somebody has left of other weights.
void set_aside(const fs::path& file) {
  const fs::path old = file.parent_path() / "best-old.h5";
  std::error_code error;
  fs::rename(file, old, error);
  if (!error) fs::remove(file, error);  // two names of one file: renaming does nothing then
  if (error)
    throw Error(fmt::format("cannot rename '{}' to '{}': {}", file.string(), old.string(),
                            error.message()));
  log::warn(fmt::format("'{}' is not of the run that goes on here: it is '{}' from now on",
                        file.string(), old.filename().string()));
}

}  // namespace

std::optional<fs::path> best_checkpoint_of(const fs::path& folder) {
  fs::path file = folder / kBestCheckpointName;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  return file;
}

void name_best_checkpoint(const fs::path& checkpoint) {
  const fs::path best = checkpoint.parent_path() / kBestCheckpointName;
  std::error_code absent;
  if (fs::equivalent(checkpoint, best, absent)) return;
  try {
    PendingFile pending(best);
    std::error_code ignored;
    fs::remove(pending.temporary(), ignored);  // of a process that had this number
    if (::link(checkpoint.c_str(), pending.temporary().c_str()) != 0)
      fs::copy_file(checkpoint, pending.temporary());
    pending.commit();
  } catch (const std::exception& problem) {
    throw Error(fmt::format("cannot name the checkpoint '{}' '{}' too: {}", checkpoint.string(),
                            kBestCheckpointName, problem.what()));
  }
}

bool restore_best_checkpoint(const fs::path& folder, const BestEvaluation& best) {
  const fs::path file = folder / kBestCheckpointName;
  std::error_code error;
  if (best.epoch > 0 && fs::exists(file, error) && is_good_and_of(file, best)) return true;
  if (fs::exists(file, error)) set_aside(file);
  if (best.epoch == 0) return true;
  const fs::path checkpoint = folder / checkpoint_name(best.step);
  if (!fs::exists(checkpoint, error) || !is_good_and_of(checkpoint, best)) return false;
  name_best_checkpoint(checkpoint);
  return true;
}

}  // namespace quern

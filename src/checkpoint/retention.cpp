// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/retention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <system_error>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/seal.hpp"
#include "io/pending_file.hpp"

namespace quern {

namespace fs = std::filesystem;

std::vector<fs::path> keep_newest(const fs::path& newest, int keep,
                                  const std::vector<fs::path>& damaged) {
  expect(keep >= 1, "at least one checkpoint is kept");
  const auto newest_step = step_of_name(newest.filename().string());
  expect(newest_step.has_value(), "the newest checkpoint has a checkpoint's name");
  try {
    check_seal(newest);
  } catch (const std::exception& problem) {
    throw Error(fmt::format("nothing is deleted, the newest checkpoint is not good: '{}': {}",
                            newest.string(), problem.what()));
  }

  std::vector<CheckpointFile> older;
  try {
    older = list_checkpoints(newest.parent_path());
  } catch (const InputError& problem) {
    throw Error(problem.what());  // a run that trains is not ended by its input
  }
  std::erase_if(older, [&](const CheckpointFile& file) { return file.step >= *newest_step; });
  // From the newest one down, until enough good ones stay.
  int good = 1;
  while (good < keep && !older.empty()) {
    if (std::ranges::find(damaged, older.back().path) == damaged.end()) ++good;
    older.pop_back();
  }

  std::vector<fs::path> deleted;
  for (const CheckpointFile& file : older) {
    std::error_code error;
    fs::remove(file.path, error);
    if (error) {
      log::warn(fmt::format("cannot delete the old checkpoint '{}': {}", file.path.string(),
                            error.message()));
      continue;
    }
    deleted.push_back(file.path);
  }
  if (!deleted.empty()) sync_path(newest.parent_path());
  return deleted;
}

}  // namespace quern

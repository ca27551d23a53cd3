// SPDX-License-Identifier: Apache-2.0
#include "app/preflight/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "checkpoint/best_checkpoint.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "optim/optimizer.hpp"
#include "state/snapshot.hpp"
#include "strategy/model.hpp"

namespace quern {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kMostReserved = std::int64_t{1} << 30;

fs::path nearest_existing(fs::path path) {
  std::error_code ignored;
  path = fs::absolute(path, ignored);
  while (!fs::exists(path, ignored) && path.has_parent_path() && path != path.parent_path()) {
    path = path.parent_path();
  }
  return path;
}

std::string reason() {
  return std::strerror(errno);
}

// A file that is gone when the object is.
class ProbeFile {
 public:
  explicit ProbeFile(const fs::path& folder)
      : name_((folder / ".quern-preflight-XXXXXX").string()) {
    descriptor_ = mkstemp(name_.data());
    if (descriptor_ >= 0) unlink(name_.c_str());
  }
  ~ProbeFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  ProbeFile(const ProbeFile&) = delete;
  ProbeFile& operator=(const ProbeFile&) = delete;
  ProbeFile(ProbeFile&&) = delete;
  ProbeFile& operator=(ProbeFile&&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  std::string name_;
  int descriptor_;
};

// A run that goes on has most of its room already: each new checkpoint takes the place of an old
// one, which is deleted only when the new one is whole.
int checkpoints_to_come(const fs::path& folder, int keep, bool keeps_best) {
  const fs::path checkpoints = folder / "checkpoints";
  auto there = static_cast<int>(list_checkpoints(checkpoints).size());
  const auto best = best_checkpoint_of(checkpoints);
  std::error_code error;
  // Else it is a second name of one that was counted.
  if (keeps_best && best && fs::hard_link_count(*best, error) == 1) ++there;
  return std::max(1, keep + (keeps_best ? 1 : 0) + 1 - there);
}

}  // namespace

FileInfo inspect_run_folder(const std::string& folder, std::int64_t checkpoint_bytes, int keep,
                            bool keeps_best) {
  FileInfo info;
  info.checkpoint_bytes = checkpoint_bytes;
  const fs::path run = nearest_existing(folder);
  const fs::path place = nearest_existing(fs::path(folder) / "checkpoints");  // a link, perhaps
  info.folder = place.string();
  struct statvfs system {};
  if (statvfs(place.c_str(), &system) == 0) {
    info.free_bytes = static_cast<std::int64_t>(system.f_bavail * system.f_frsize);
  }
  try {
    info.checkpoints = checkpoints_to_come(folder, keep, keeps_best);
  } catch (const InputError& error) {
    info.problem = error.what();
    return info;
  }
  if (access(run.c_str(), W_OK | X_OK) != 0) {
    info.problem = "cannot write to '" + run.string() + "': " + reason();
    return info;
  }
  const ProbeFile probe(place);
  if (probe.descriptor() < 0) {
    info.problem = "cannot write to '" + info.folder + "': " + reason();
    return info;
  }
  const int error = posix_fallocate(probe.descriptor(), 0,
                                    std::clamp(checkpoint_bytes, std::int64_t{1}, kMostReserved));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    const std::string what =
        checkpoint_bytes > 0 ? "one checkpoint of " + std::to_string(checkpoint_bytes) + " bytes"
                             : std::string("a file");
    info.problem = "no room for " + what + " in '" + info.folder + "': " + std::strerror(error);
    return info;
  }
  if (flock(probe.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    info.locking_problem = "files cannot be locked in '" + info.folder + "': " + reason();
  }
  return info;
}

std::int64_t checkpoint_bytes(const Recipe& recipe) {
  // Of what HDF5 and the hashes take for the file and for each tensor; measured, rounded up.
  constexpr std::int64_t kFile = std::int64_t{1} << 16;
  constexpr std::int64_t kTensor = 1024;
  const Model model(recipe);
  const ParameterTable& table = model.network().table();
  const int state_arrays = num_state_arrays(recipe.optimizer);
  const auto tensors = static_cast<std::int64_t>(table.entries().size()) * (1 + state_arrays);
  return snapshot_bytes(table, state_arrays) + kFile + tensors * kTensor;
}

}  // namespace quern

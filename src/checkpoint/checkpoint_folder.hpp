// SPDX-License-Identifier: Apache-2.0
// The names in a folder of checkpoints: "ckpt-0000000123.h5" and, while it is being written,
// "ckpt-0000000123.h5.tmp.<host>.<pid>". Everything else in the folder is somebody else's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace quern {

struct CheckpointFile {
  std::int64_t step = 0;
  std::filesystem::path path;
};

/// "ckpt-0000000123.h5"; more digits when the step needs them.
std::string checkpoint_name(std::int64_t step);

/// The step of a checkpoint's file name, nothing for any other name.
std::optional<std::int64_t> step_of_name(const std::string& name);

/// The checkpoints (regular files of that name) of a folder, oldest step first. An absent folder
/// holds none; throws InputError when it cannot be listed.
std::vector<CheckpointFile> list_checkpoints(const std::filesystem::path& folder);

/// remove_stale_files() of checkpoints.
std::vector<std::filesystem::path> remove_stale_temporaries(const std::filesystem::path& folder);

/// What users name on the command line: a checkpoint file, a folder of checkpoints, or a run folder
/// with "checkpoints/" in it. The folder of checkpoints in the last two cases, nothing for a file.
/// Throws InputError when nothing is there.
std::optional<std::filesystem::path> checkpoint_folder_of(const std::filesystem::path& path);

/// Has it been there, and is no more? A run that goes on deletes its old checkpoints.
bool is_gone(const std::filesystem::path& file);

/// InputError of a folder without checkpoints; it names best.h5 where that is there.
[[noreturn]] void refuse_empty_folder(const std::filesystem::path& folder);

/// The file itself, or the newest checkpoint of a folder. Throws InputError when there is none.
std::filesystem::path checkpoint_file_of(const std::filesystem::path& path);

}  // namespace quern

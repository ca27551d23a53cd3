// SPDX-License-Identifier: Apache-2.0
#include "app/out_file.hpp"

#include <fmt/format.h>

#include <system_error>

#include "base/error.hpp"
#include "checkpoint/checkpoint_folder.hpp"
#include "io/pending_file.hpp"

namespace quern {

void check_out_file(const std::filesystem::path& path, bool force) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (error) {  // links in a circle, say
    throw_write_failure(fmt::format("cannot write '{}'", path.string()), error.value());
  }
  if (exists && !force) {
    throw InputError(fmt::format("'{}' exists already (--force replaces it)", path.string()));
  }
  if (fs::is_directory(path, error)) {
    throw InputError(fmt::format("'{}' is a folder, expected a file name", path.string()));
  }
  const fs::path folder = file_behind(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error)) {
    throw InputError(fmt::format("there is no folder '{}'", folder.string()));
  }
}

void refuse_input_as_output(const std::filesystem::path& path,
                            const std::vector<std::string>& inputs) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  if (step_of_name(path.filename().string()) || path.parent_path().filename() == "checkpoints") {
    throw InputError(fmt::format(
        "'{}' would be taken for a checkpoint, expected another name or folder", path.string()));
  }
  for (const std::string& input : inputs) {
    std::error_code error;
    if (!input.empty() && fs::equivalent(path, input, error)) {
      throw InputError(fmt::format("'{}' is the input '{}' itself, expected another file",
                                   path.string(), input));
    }
  }
}

}  // namespace quern

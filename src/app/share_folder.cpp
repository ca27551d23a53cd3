// SPDX-License-Identifier: Apache-2.0
#include "app/share_folder.hpp"

#include <system_error>

namespace quern {

namespace fs = std::filesystem;

fs::path share_folder() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  const fs::path folder = fs::weakly_canonical(program.parent_path() / QUERN_BIN_TO_SHARE, failed);
  return !failed && fs::is_directory(folder / "recipes", failed) ? folder : fs::path();
}

}  // namespace quern

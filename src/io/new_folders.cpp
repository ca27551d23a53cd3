// SPDX-License-Identifier: Apache-2.0
#include "io/new_folders.hpp"

#include <unistd.h>

#include <system_error>

namespace quern {

namespace fs = std::filesystem;

void NewFolders::make(const fs::path& folder) {
  std::vector<fs::path> missing;
  std::error_code unreadable;  // create_directories will say so
  for (fs::path above = folder; !above.empty() && !fs::exists(above, unreadable);
       above = above.parent_path()) {
    missing.push_back(above);
  }
  made_.insert(made_.end(), missing.rbegin(), missing.rend());
  fs::create_directories(folder);
}

NewFolders::~NewFolders() {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) {
    [[maybe_unused]] const int status = rmdir(folder->c_str());  // fails when it is not empty
  }
}

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <optional>
#include <string>

#include "io/pending_file.hpp"

namespace quern {

/// Lines of any number, written as they come. A file appears under its name once it is complete;
/// standard output, and what is no regular file (a pipe, /dev/null), gets them at once.
class LinesFile {
 public:
  /// `path`: empty for standard output. InputError where it cannot be written.
  explicit LinesFile(const std::string& path);

  /// InputError when writing fails.
  void add_line(const std::string& line);

  /// After the last line.
  void finish();

 private:
  void write();

  std::string path_;
  std::optional<PendingFile> pending_;  // none for what gets its lines at once
  std::ofstream file_;
  std::string text_;  // what is still to be written
};

}  // namespace quern

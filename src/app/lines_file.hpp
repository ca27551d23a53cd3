// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "io/output_file.hpp"

namespace quern {

/// Lines of any number, written as they come, to an OutputFile or to standard output.
class LinesFile {
 public:
  /// `path`: empty for standard output. Fails as OutputFile.
  explicit LinesFile(const std::string& path);

  void add_line(const std::string& line);

  /// After the last line.
  void finish();

 private:
  void write();

  std::optional<OutputFile> file_;  // none: standard output
  std::string text_;                // what is still to be written
};

}  // namespace quern

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace quern {

/// The lines of a file, the last one first: of a long file the end alone is read. A file that is
/// not there has none.
class LinesFromEnd {
 public:
  struct Line {
    std::string text;        ///< without its end
    std::int64_t begin = 0;  ///< in the file
    bool is_ended = true;    ///< by '\n': only the last line may not be
  };

  /// Throws as throw_read_failure() does.
  explicit LinesFromEnd(std::filesystem::path file);
  LinesFromEnd(const LinesFromEnd&) = delete;
  LinesFromEnd& operator=(const LinesFromEnd&) = delete;
  ~LinesFromEnd();

  /// Nothing once the first line of the file was the last. Throws as throw_read_failure() does.
  std::optional<Line> next();

 private:
  std::string read(std::int64_t begin, std::size_t count) const;
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  // What was read and not yet returned: the bytes of the file from begin_ on.
  std::string bytes_;
  std::int64_t begin_ = 0;
};

}  // namespace quern

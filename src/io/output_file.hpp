// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>

#include "io/pending_file.hpp"

namespace quern {

/// A file that a user names for what a program puts out. A new one, or one in place of an ordinary
/// file (of that which a link leads to, there or not), appears whole or not at all; what killed
/// processes have left of it goes (remove_abandoned()). Anything else, as a pipe or /dev/stdout, is
/// written as it stands there.
class OutputFile {
 public:
  /// InputError where a folder does not let anybody write; Error, as of the calls below, where a
  /// disk is full or fails.
  explicit OutputFile(const std::filesystem::path& path);

  void write(std::string_view bytes);
  /// After the last bytes. `check` as of PendingFile::commit.
  void finish(const std::function<void()>& check = {});

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  std::optional<PendingFile> pending_;
  std::ofstream stream_;
};

/// All of it at once.
void write_whole_file(const std::filesystem::path& path, std::string_view bytes,
                      const std::function<void()>& check = {});

/// Cuts a file after so many bytes, in one step, and syncs it. Throws as throw_write_failure().
void shorten_file(const std::filesystem::path& path, std::int64_t num_bytes);

}  // namespace quern

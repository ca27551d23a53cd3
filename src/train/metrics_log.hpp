// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl: one JSON object a line, appended and flushed, by rank 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "train/metrics_line.hpp"

namespace quern {

class MetricsLog {
 public:
  /// Appends to `file` after so many steps and epochs. What a killed run wrote there about later
  /// ones is dropped, because they are done again, with `check` just before. InputError when it
  /// cannot be read or written.
  MetricsLog(const std::filesystem::path& file, std::int64_t steps, std::int64_t epochs,
             const std::function<void()>& check = {});
  /// Throws Error when the line cannot be written.
  void write(const MetricsLine& line);
  /// Forces the lines to the disk. Throws Error when it fails. A file that somebody has removed is
  /// no reason to end a training.
  void sync() const;

 private:
  std::filesystem::path path_;
  std::ofstream stream_;
};

}  // namespace quern

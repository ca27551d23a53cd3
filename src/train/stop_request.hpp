// SPDX-License-Identifier: Apache-2.0
// How a run is asked to stop early: SIGUSR1, SIGTERM, or a file STOP in the run folder.
#pragma once

#include <filesystem>
#include <string>

#include "base/stopwatch.hpp"

namespace quern {

/// While it lives, SIGUSR1 and SIGTERM only set a flag: nothing else is safe inside a handler.
/// The training loop asks between steps and the ranks agree there.
class StopRequest {
 public:
  /// `stop_file`: watched by whoever passes a path (rank 0); empty: not watched.
  explicit StopRequest(std::filesystem::path stop_file);
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// Has anybody asked this rank to stop? Looks for the file at most once a second.
  bool is_set();
  /// "SIGUSR1", "SIGTERM", "the file STOP", or "another rank" when this one was not asked.
  std::string reason() const;

 private:
  std::filesystem::path stop_file_;
  Stopwatch since_look_;
  bool file_seen_ = false;
  bool looked_ = false;
};

}  // namespace quern

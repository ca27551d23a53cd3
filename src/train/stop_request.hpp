// SPDX-License-Identifier: Apache-2.0
// How a run is asked to stop early: SIGUSR1, SIGTERM, Ctrl-C (SIGINT), or a file STOP in the run
// folder.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>

#include "base/stopwatch.hpp"

namespace quern {

/// From now on and until the process ends, SIGUSR1 and SIGTERM only set a flag. For a program that
/// trains and does nothing else: a request that comes while MPI starts or data is loaded is met by
/// the StopRequest of the run to come, and one that comes after the last step does no harm while
/// the last checkpoint is still being written. While there is a StopRequest, the first SIGINT only
/// sets the flag, too, unless it was ignored; the second one kills.
void watch_stop_signals();

/// Where Ctrl-C has asked for a stop: ends the process by SIGINT, as shells expect, whose loops go
/// on after any other end. Only after watch_stop_signals().
void end_by_ctrl_c();

/// While it lives, SIGUSR1 and SIGTERM only set a flag: nothing else is safe inside a handler.
/// Afterwards they do what they did before, unless the request was accepted or watch_stop_signals()
/// was called. The training loop asks between steps and the ranks agree there.
class StopRequest {
 public:
  /// `stop_file`: watched by whoever passes a path (rank 0); empty: not watched.
  explicit StopRequest(std::filesystem::path stop_file);
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// Has anybody asked this rank to stop? Looks for the file at most once a second.
  bool is_set();
  /// The ranks have agreed to stop. The same request may still be on its way to this one, because
  /// signals reach the nodes of a job one after the other, and schedulers repeat them: from now on
  /// SIGUSR1 and SIGTERM are ignored, also when this object is gone. What does not end gets
  /// SIGKILL.
  void accept() { accepted_ = true; }
  /// "SIGUSR1", "SIGTERM", "Ctrl-C", "the file STOP", or "another rank" when this one was not
  /// asked.
  std::string reason() const;
  /// What has to be done before the run can go on: "remove that file, then "; mostly nothing.
  std::string condition() const;

 private:
  std::filesystem::path stop_file_;
  struct sigaction before_[2] = {};  // what SIGUSR1 and SIGTERM did
  Stopwatch since_look_;
  bool file_seen_ = false;
  bool looked_ = false;
  bool accepted_ = false;
};

}  // namespace quern

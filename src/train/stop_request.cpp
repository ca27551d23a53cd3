// SPDX-License-Identifier: Apache-2.0
#include "train/stop_request.hpp"

#include <csignal>

namespace quern {

namespace {

volatile std::sig_atomic_t g_signal = 0;
bool g_watched_for_good = false;

extern "C" void remember_signal(int signal) {
  g_signal = signal;
}

void install(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = flags | SA_RESTART;  // system calls of MPI and HDF5 go on
  sigaction(signal, &action, nullptr);
}

// Who starts a program in the background of a script has it ignore Ctrl-C.
bool is_ignored(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

void watch() {
  install(SIGUSR1, remember_signal, 0);
  install(SIGTERM, remember_signal, 0);
  // The second Ctrl-C kills.
  if (!is_ignored(SIGINT)) install(SIGINT, remember_signal, static_cast<int>(SA_RESETHAND));
}

}  // namespace

void watch_stop_signals() {
  g_watched_for_good = true;
  watch();
}

StopRequest::StopRequest(std::filesystem::path stop_file) : stop_file_(std::move(stop_file)) {
  if (g_watched_for_good) return;
  g_signal = 0;
  watch();
}

StopRequest::~StopRequest() {
  if (g_watched_for_good) return;
  for (const int signal : {SIGUSR1, SIGTERM}) install(signal, accepted_ ? SIG_IGN : SIG_DFL, 0);
  if (!is_ignored(SIGINT)) install(SIGINT, SIG_DFL, 0);
}

bool StopRequest::is_set() {
  if (g_signal != 0 || file_seen_) return true;
  if (stop_file_.empty() || (looked_ && since_look_.seconds() < 1.0)) return false;
  looked_ = true;
  since_look_.restart();
  std::error_code ignored;
  file_seen_ = std::filesystem::exists(stop_file_, ignored);
  return file_seen_;
}

std::string StopRequest::reason() const {
  if (g_signal == SIGUSR1) return "SIGUSR1";
  if (g_signal == SIGTERM) return "SIGTERM";
  if (g_signal == SIGINT) return "Ctrl-C";
  return file_seen_ ? "the file " + stop_file_.string() : "another rank";
}

std::string StopRequest::condition() const {
  return g_signal == 0 && file_seen_ ? "remove that file, then " : "";
}

}  // namespace quern

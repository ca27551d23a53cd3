// SPDX-License-Identifier: Apache-2.0
#include "train/stop_request.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace quern {

namespace {

// Threads of MPI, too, may be who handles a signal.
std::atomic<int> g_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free, "what a signal handler may write");
bool g_watched_for_good = false;

extern "C" void remember_signal(int signal) {
  g_signal = signal;
}

// Without an answer, people press it again.
extern "C" void remember_ctrl_c(int signal) {
  constexpr char kText[] =
      "\nquern: a checkpoint is written after this step (Ctrl-C again ends at once, without one)\n";
  const int reason = errno;
  static_cast<void>(!write(STDERR_FILENO, kText, sizeof kText - 1));
  errno = reason;
  g_signal = signal;
}

void install(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = flags | SA_RESTART;  // system calls of MPI and HDF5 go on
  sigaction(signal, &action, nullptr);
}

void (*handler_of(int signal))(int) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

constexpr std::array kSignals{SIGUSR1, SIGTERM};

void watch() {
  for (const int signal : kSignals) install(signal, remember_signal);
}

}  // namespace

void watch_stop_signals() {
  g_watched_for_good = true;
  watch();
}

void end_by_ctrl_c() {
  if (g_signal != SIGINT) return;
  install(SIGINT, SIG_DFL);
  std::raise(SIGINT);
}

StopRequest::StopRequest(std::filesystem::path stop_file) : stop_file_(std::move(stop_file)) {
  if (g_watched_for_good) {
    // Not where it is ignored, as in what a script starts in the background. The second one kills.
    if (handler_of(SIGINT) == SIG_DFL)
      install(SIGINT, remember_ctrl_c, static_cast<int>(SA_RESETHAND));
    return;
  }
  g_signal = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &before_[i]);
  watch();
}

StopRequest::~StopRequest() {
  if (g_watched_for_good) {
    if (handler_of(SIGINT) == remember_ctrl_c) install(SIGINT, SIG_DFL);
    return;
  }
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (accepted_)
      install(kSignals[i], SIG_IGN);
    else
      sigaction(kSignals[i], &before_[i], nullptr);
  }
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

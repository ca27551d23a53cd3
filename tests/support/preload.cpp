// SPDX-License-Identifier: Apache-2.0
// Preloaded into a rank. With $QUERN_TEST_OPENS: notes every path it opens in that folder's
// opens-<rank>. With $QUERN_TEST_SYNC_MS: syncing a file takes at least so long, as on a busy disk.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

using Open = int (*)(const char*, int, ...);
using StreamOpen = std::FILE* (*)(const char*, const char*);

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void note(const char* path) {
  static const Open real_open = next<Open>("open");
  const char* folder = std::getenv("QUERN_TEST_OPENS");
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (!rank) rank = std::getenv("SLURM_PROCID");
  if (!folder || !rank || !path) return;
  const std::string file = std::string(folder) + "/opens-" + rank;
  const int descriptor = real_open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (descriptor < 0) return;
  const std::string line = std::string(path) + "\n";
  static_cast<void>(!write(descriptor, line.data(), line.size()));
  close(descriptor);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

int open_and_note(const char* name, const char* path, int flags, mode_t mode) {
  note(path);
  return next<Open>(name)(path, flags, mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_and_note("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_and_note("open64", path, flags, mode);
}

std::FILE* fopen(const char* path, const char* mode) {
  note(path);
  return next<StreamOpen>("fopen")(path, mode);
}

std::FILE* fopen64(const char* path, const char* mode) {
  note(path);
  return next<StreamOpen>("fopen64")(path, mode);
}

int fsync(int descriptor) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const int status = next<int (*)(int)>("fsync")(descriptor);
  if (const char* least = std::getenv("QUERN_TEST_SYNC_MS")) {
    std::this_thread::sleep_until(begin + std::chrono::milliseconds(std::atoi(least)));
  }
  return status;
}

}  // extern "C"

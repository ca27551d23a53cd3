// SPDX-License-Identifier: Apache-2.0
// Preloaded into a rank. With $QUERN_TEST_OPENS: notes every path it opens in that folder's
// opens-<rank>. With $QUERN_TEST_SYNC_MS: syncing a file takes at least so long, as on a busy disk.
// With $QUERN_TEST_NO_LINKS: no file gets a second name, as on some file systems.
// With $QUERN_TEST_FAIL_READ: a read of at least $QUERN_TEST_FAIL_BYTES of a file with that text in
// its path fails as on a broken disk, once, when there is a file $QUERN_TEST_FAIL_ONCE; it removes
// that. With $QUERN_TEST_FAIL_CALL, a name like flock, every such call for a path with the text
// $QUERN_TEST_FAIL_PATH in it fails with $QUERN_TEST_FAIL_ERRNO. With $QUERN_TEST_STOP_SYNC: the
// process stops (SIGSTOP) when it is to sync a file with that text in its path, once, in the call
// whose number is $QUERN_TEST_STOP_AT. A rank that waits for others
// sleeps instead of trying again and again: tests have many more ranks than processors.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
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
  if (!rank) rank = std::getenv("PMI_RANK");
  if (!rank) rank = std::getenv("SLURM_PROCID");
  if (!folder || !rank || !path) return;
  const std::string file = std::string(folder) + "/opens-" + rank;
  const int descriptor = real_open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (descriptor < 0) return;
  const std::string line = std::string(path) + "\n";
  static_cast<void>(!write(descriptor, line.data(), line.size()));
  close(descriptor);
}

std::string path_of(int descriptor) {
  char path[4096] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  return readlink(link.c_str(), path, sizeof path - 1) < 0 ? "" : path;
}

bool refuses(const char* call, const std::string& path) {
  const char* failing = std::getenv("QUERN_TEST_FAIL_CALL");
  const char* text = std::getenv("QUERN_TEST_FAIL_PATH");
  const char* reason = std::getenv("QUERN_TEST_FAIL_ERRNO");
  if (!failing || !text || !reason || std::strcmp(failing, call) != 0) return false;
  if (path.find(text) == std::string::npos) return false;
  errno = std::atoi(reason);
  return true;
}

void stop_at_sync(const std::string& path) {
  static int calls = 0;
  const char* text = std::getenv("QUERN_TEST_STOP_SYNC");
  const char* number = std::getenv("QUERN_TEST_STOP_AT");
  if (!text || path.find(text) == std::string::npos) return;
  if (++calls == (number ? std::atoi(number) : 1)) raise(SIGSTOP);
}

bool is_to_fail(int descriptor, std::size_t bytes) {
  const char* text = std::getenv("QUERN_TEST_FAIL_READ");
  const char* once = std::getenv("QUERN_TEST_FAIL_ONCE");
  const char* least = std::getenv("QUERN_TEST_FAIL_BYTES");
  if (!text || !once || (least && bytes < std::strtoul(least, nullptr, 10))) return false;
  if (access(once, F_OK) != 0) return false;
  return path_of(descriptor).find(text) != std::string::npos && unlink(once) == 0;
}

ssize_t read_or_fail(const char* name, int descriptor, void* bytes, std::size_t count,
                     off_t offset) {
  if (is_to_fail(descriptor, count)) {
    errno = EIO;
    return -1;
  }
  return next<ssize_t (*)(int, void*, std::size_t, off_t)>(name)(descriptor, bytes, count, offset);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

int open_and_note(const char* name, const char* path, int flags, mode_t mode) {
  note(path);
  if (refuses("open", path)) return -1;
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

ssize_t read(int descriptor, void* bytes, std::size_t count) {
  static const auto real_read = next<ssize_t (*)(int, void*, std::size_t)>("read");
  if (is_to_fail(descriptor, count)) {
    errno = EIO;
    return -1;
  }
  return real_read(descriptor, bytes, count);
}

ssize_t pread(int descriptor, void* bytes, std::size_t count, off_t offset) {
  return read_or_fail("pread", descriptor, bytes, count, offset);
}

ssize_t pread64(int descriptor, void* bytes, std::size_t count, off_t offset) {
  return read_or_fail("pread64", descriptor, bytes, count, offset);
}

int link(const char* from, const char* to) {
  if (!std::getenv("QUERN_TEST_NO_LINKS"))
    return next<int (*)(const char*, const char*)>("link")(from, to);
  errno = EPERM;
  return -1;
}

int flock(int descriptor, int operation) {
  if (refuses("flock", path_of(descriptor))) return -1;
  return next<int (*)(int, int)>("flock")(descriptor, operation);
}

// What Open MPI does between two looks, with mpi_yield_when_idle.
int sched_yield() {
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  return 0;
}

int fsync(int descriptor) {
  using Clock = std::chrono::steady_clock;
  stop_at_sync(path_of(descriptor));
  if (refuses("fsync", path_of(descriptor))) return -1;
  const auto begin = Clock::now();
  const int status = next<int (*)(int)>("fsync")(descriptor);
  if (const char* least = std::getenv("QUERN_TEST_SYNC_MS")) {
    std::this_thread::sleep_until(begin + std::chrono::milliseconds(std::atoi(least)));
  }
  return status;
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
#include "bench/scratch_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "io/pending_file.hpp"

namespace quern {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;

void note_interruption(int) {
  g_interrupted = 1;
}

}  // namespace

ScratchFolder::ScratchFolder(const std::filesystem::path& parent)
    : path_(parent / (".quern-bench-" + std::to_string(getpid()))) {
  if (!std::filesystem::is_directory(parent)) {
    throw InputError("'" + parent.string() + "' is no folder (expected one to write to)");
  }
  std::error_code error;
  std::filesystem::remove_all(path_, error);  // of a dead process of the same number
  if (!std::filesystem::create_directory(path_, error)) {
    throw InputError("cannot write to '" + parent.string() + "': " + error.message());
  }
  g_interrupted = 0;
  before_interrupt_ = std::signal(SIGINT, note_interruption);
  before_terminate_ = std::signal(SIGTERM, note_interruption);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  std::signal(SIGINT, before_interrupt_);
  std::signal(SIGTERM, before_terminate_);
}

void ScratchFolder::stop_if_interrupted() const {
  if (g_interrupted != 0) throw Error("interrupted");
}

namespace {

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags)
      : path_(path), number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (number_ < 0) fail("open");
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("cannot " + what + " '" + path_.string() + "': " + std::strerror(errno));
  }

 private:
  std::filesystem::path path_;
  int number_;
};

}  // namespace

void write_raw_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  PendingFile file(path);
  {
    const Descriptor out(file.temporary(), O_WRONLY | O_CREAT | O_TRUNC);
    while (!bytes.empty()) {
      const ssize_t written = ::write(out.number(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) out.fail("write");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  file.commit();
}

void read_raw_file(const std::filesystem::path& path, std::vector<std::byte>& bytes) {
  bytes.resize(std::filesystem::file_size(path));
  const Descriptor in(path, O_RDONLY);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(in.number(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) in.fail("read");
    done += static_cast<std::size_t>(got);
  }
}

void drop_cached_file(const std::filesystem::path& path) {
  const Descriptor in(path, O_RDONLY);
  posix_fadvise(in.number(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace quern

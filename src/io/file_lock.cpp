// SPDX-License-Identifier: Apache-2.0
#include "io/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/host_name.hpp"
#include "io/pending_file.hpp"

namespace quern {

namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr std::size_t kHolderBytes = 256;
// The name of whoever had the lock before may still stand there while the next one writes its own.
constexpr std::chrono::seconds kTakeOver{2};

std::string read_holder(int descriptor) {
  std::array<char, kHolderBytes> bytes;
  const ssize_t size = pread(descriptor, bytes.data(), bytes.size(), 0);
  const std::string text(bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t end = text.find('\n');
  return end == std::string::npos || end == 0 ? "another process" : text.substr(0, end);
}

// For people only: a full disk is no reason to refuse the lock.
void write_holder(int descriptor) {
  const std::string text = this_process() + "\n";
  if (ftruncate(descriptor, 0) != 0) return;
  [[maybe_unused]] const ssize_t written = pwrite(descriptor, text.data(), text.size(), 0);
}

void erase_holder(int descriptor) {
  [[maybe_unused]] const int status = ftruncate(descriptor, 0);
}

// ", Slurm job 99, start ", or nothing outside of jobs.
std::string slurm_job() {
  const char* job = std::getenv("SLURM_JOB_ID");
  return job ? ", Slurm job " + std::string(job) + ", start " : "";
}

int slurm_start() {
  const char* restarts = std::getenv("SLURM_RESTART_COUNT");
  return restarts ? std::atoi(restarts) + 1 : 1;
}

bool is_earlier_start(const std::string& holder) {
  const std::string job = slurm_job();
  const std::size_t at = holder.find(job);
  if (job.empty() || at == std::string::npos) return false;
  return std::atoi(holder.c_str() + at + job.size()) < slurm_start();
}

}  // namespace

std::string this_process() {
  return "process " + std::to_string(getpid()) + " on " + host_name() + slurm_job() +
         (slurm_job().empty() ? "" : std::to_string(slurm_start()));
}

FileLock::FileLock(const std::filesystem::path& path) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0 && errno == EEXIST) {
    is_new_file_ = false;
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  }
  if (descriptor_ >= 0) return;
  throw_write_failure("cannot open '" + path.string() + "' to lock it", errno);
}

// By opening, since that asks the file server; stat() may answer from what this node remembers.
FileLock::FileThere FileLock::file_there() const {
  const int there = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (there < 0) return {};
  struct stat ours, theirs;
  const bool known = fstat(descriptor_, &ours) == 0 && fstat(there, &theirs) == 0;
  const bool is_ours = known && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
  FileThere found{is_ours, known && !is_ours ? read_holder(there) : ""};
  ::close(there);
  return found;
}

std::string FileLock::new_holder() const {
  return is_held_ ? file_there().other_holder : "";
}

std::optional<FileLock> FileLock::acquire(
    const std::filesystem::path& path, std::chrono::milliseconds patience,
    const std::function<void(const std::string& holder)>& on_wait) {
  FileLock lock(path);
  const auto begin = std::chrono::steady_clock::now();
  bool told = false;
  while (true) {
    if (flock(lock.descriptor_, LOCK_EX | LOCK_NB) == 0) {
      if (lock.file_there().is_ours) break;
      lock = FileLock(path);  // its holder has removed the file
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return lock;  // no locks here
    const std::string holder = read_holder(lock.descriptor_);
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited >= kTakeOver && is_earlier_start(holder)) {
      std::error_code gone_already;
      std::filesystem::remove(path, gone_already);
      lock = FileLock(path);
      continue;
    }
    if (!std::exchange(told, true)) on_wait(holder);
    if (waited >= patience) return std::nullopt;
    std::this_thread::sleep_for(kPause);
  }
  write_holder(lock.descriptor_);
  lock.is_held_ = true;
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)),
      is_new_file_(other.is_new_file_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_held_(std::exchange(other.is_held_, false)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(is_new_file_, other.is_new_file_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_held_, other.is_held_);
  return *this;
}

FileLock::~FileLock() {
  if (is_held_) erase_holder(descriptor_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void FileLock::remove_new_file() {
  if (is_new_file_ && file_there().is_ours) ::unlink(path_.c_str());
}

}  // namespace quern
